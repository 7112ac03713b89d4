#include "comm/mpi_transport.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <system_error>

#include "comm/mpi_session.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/text/parse.hpp"

namespace sluice {
namespace {

void add_once(std::vector<std::string>& list, std::string name) {
    if (!name.empty() && std::ranges::find(list, name) == list.end()) {
        list.push_back(std::move(name));
    }
}

/// NAME in "…/mca_KIND_NAME.so"; empty for other files.
std::string component(std::string_view line, std::string_view kind) {
    const std::string prefix = fmt::format("/mca_{}_", kind);
    const std::size_t at = line.rfind(prefix);
    if (at == std::string_view::npos) {
        return {};
    }
    const std::string_view name = line.substr(at + prefix.size());
    return escaped(name.substr(0, name.find('.')));
}

/// This node's IPv4 addresses, in the format of /proc/net/tcp, with their interfaces.
std::map<std::string, std::string> interfaces_by_address() {
    std::map<std::string, std::string> names;
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) {
        return names;
    }
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET) {
            const auto* const address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
            names[fmt::format("{:08X}", address->sin_addr.s_addr)] = one->ifa_name;
        }
    }
    freeifaddrs(first);
    return names;
}

/// Interfaces of the TCP connections among `sockets`, given by inode.
std::set<std::string> interfaces_of(const std::set<std::string>& sockets) {
    const std::map<std::string, std::string> names = interfaces_by_address();
    std::set<std::string> found;
    std::ifstream file("/proc/self/net/tcp");
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        const std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
        constexpr std::size_t local = 1;
        constexpr std::size_t state = 3;
        constexpr std::size_t inode = 9;
        if (words.size() > inode && words[state] == "01" && sockets.contains(words[inode])) {
            const auto name = names.find(words[local].substr(0, words[local].find(':')));
            found.insert(name == names.end() ? "an unnamed interface" : escaped(name->second));
        }
    }
    return found;
}

void read_open_files(MpiTransport& transport) {
    constexpr std::string_view socket = "socket:[";
    constexpr std::string_view verbs = "/dev/infiniband/uverbs";
    std::set<std::string> sockets;
    std::error_code gone;  // another thread may close files meanwhile
    for (const std::filesystem::path& entry : entries_of("/proc/self/fd")) {
        const std::string target = std::filesystem::read_symlink(entry, gone).string();
        if (target.starts_with(socket)) {
            sockets.insert(target.substr(socket.size(), target.size() - socket.size() - 1));
        } else if (target.starts_with(verbs)) {
            const std::string device = target.substr(target.rfind('/') + 1);
            add_once(transport.interfaces, escaped(first_line("/sys/class/infiniband_verbs/" + device + "/ibdev")));
        }
    }
    std::set<std::string> interfaces = interfaces_of(sockets);
    if (interfaces.size() > 1) {
        interfaces.erase("lo");  // to the launcher's daemon
    }
    for (const std::string& name : interfaces) {
        add_once(transport.interfaces, name);
    }
}

}  // namespace

MpiTransport transport_of_maps(std::string_view maps) {
    MpiTransport transport;
    while (!maps.empty()) {
        const std::string_view line = take_until(maps, '\n');
        if (const std::string layer = component(line, "pml"); !layer.empty()) {
            transport.layer = layer;
        }
        for (const char* const kind : {"btl", "mtl"}) {
            const std::string way = component(line, kind);
            if (way != "self" && way != "sm") {  // Open MPI 4's sm is only a stub that refers to vader
                add_once(transport.ways, way);
            }
        }
    }
    return transport;
}

MpiTransport read_mpi_transport() {
    MpiTransport transport = transport_of_maps(contents_of("/proc/self/maps"));
    const std::string library = mpi_library();
    transport.library = escaped(library.substr(0, library.find(',')));
    read_open_files(transport);
    return transport;
}

}  // namespace sluice
