#include "comm/mpi_links.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <mpi.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "comm/mpi_session.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/machine/cgroup.hpp"
#include "core/paths.hpp"
#include "core/split.hpp"

namespace sluice {
namespace {

constexpr int tag_size = 9;
constexpr int tag_bytes = 10;
constexpr int end_of_probe = -1;
constexpr int probe_word = 8;
constexpr int latency_rounds = 40;
constexpr std::array largest_last{1 << 16, 1 << 20, 1 << 23};
constexpr int bandwidth_rounds = 3;
constexpr double long_enough = 0.01;  // seconds per round beyond which no larger message is tried

/// Seconds of the fastest of `rounds` round trips.
double quickest(MpiSession& session, int to, std::span<std::byte> bytes, int rounds) {
    double best = std::chrono::duration<double>(std::chrono::hours(1)).count();
    for (int i = 0; i < rounds; ++i) {
        session.send(raw_bytes(static_cast<int>(bytes.size())), to, tag_size);
        const Instant begin = Clock::now();
        session.send(bytes, to, tag_bytes);
        session.receive(bytes, to, tag_bytes);
        best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return best;
}

LinkSpeed probe(MpiSession& session, int to, std::span<std::byte> bytes) {
    LinkSpeed speed{.to = to};
    speed.latency_seconds = quickest(session, to, bytes.first(probe_word), latency_rounds) / 2;
    for (const int size : largest_last) {
        const double seconds = quickest(session, to, bytes.first(static_cast<std::size_t>(size)), bandwidth_rounds) / 2;
        speed.bytes_per_second = size / seconds;
        if (seconds > long_enough) {
            break;
        }
    }
    session.send(raw_bytes(end_of_probe), to, tag_size);
    return speed;
}

void answer(MpiSession& session, std::span<std::byte> bytes) {
    for (;;) {
        int size = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        session.begin_receive(raw_bytes(size), 0, tag_size, request);
        wait_asleep(request);
        if (size == end_of_probe) {
            return;
        }
        session.receive(bytes.first(static_cast<std::size_t>(size)), 0, tag_bytes);
        session.send(bytes.first(static_cast<std::size_t>(size)), 0, tag_bytes);
    }
}

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

std::vector<LinkSpeed> probe_links(MpiSession& session, std::span<const int> peers) {
    std::vector<LinkSpeed> speeds;
    const bool is_peer = std::ranges::find(peers, session.rank()) != peers.end();
    if (session.rank() != 0 && !is_peer) {
        return speeds;
    }
    std::vector<std::byte> bytes(largest_last.back());
    if (session.rank() != 0) {
        answer(session, bytes);
        return speeds;
    }
    for (const int peer : peers) {
        speeds.push_back(probe(session, peer, bytes));
    }
    return speeds;
}

std::vector<int> peers_to_probe(int ranks, std::chrono::nanoseconds run) {
    constexpr std::chrono::seconds run_for_each{5};  // a link takes about 50 ms
    const std::int64_t count = std::min<std::int64_t>(ranks - 1, run / run_for_each);
    std::vector<int> peers;
    for (std::int64_t i = 0; i < count; ++i) {
        peers.push_back(static_cast<int>(1 + i * (ranks - 1) / count));
    }
    return peers;
}

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
