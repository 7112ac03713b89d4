#include "core/machine/topology_file.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uintmax_t largest_xml = 64U << 20U;

[[noreturn]] void refuse(ExitCode code, const char* id, const std::filesystem::path& file, std::string what) {
    throw Error(code, {.id = id,
                       .where = escaped(file.native()),
                       .what = std::move(what),
                       .hint = "write one with `lstopo FILE.xml` on that machine"});
}

}  // namespace

std::string read_topology_file(const std::filesystem::path& file) {
    std::error_code failed;
    const std::filesystem::file_status status = std::filesystem::status(file, failed);
    if (failed || !std::filesystem::is_regular_file(status)) {
        refuse(ExitCode::no_input, "E-HWL-120", file,
               std::filesystem::exists(status) ? "is not a regular file" : "cannot be opened: " + failed.message());
    }
    if (std::filesystem::file_size(file, failed) > largest_xml || failed) {
        refuse_topology_file(file, "is larger than 64 MiB, expected the XML of one machine");
    }
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
        refuse(ExitCode::no_input, "E-HWL-120", file, "cannot be opened: " + std::system_category().message(errno));
    }
    return {std::istreambuf_iterator<char>(stream), {}};
}

void refuse_topology_file(const std::filesystem::path& file, std::string what) {
    refuse(ExitCode::bad_data, "E-HWL-121", file, std::move(what));
}

}  // namespace sluice
