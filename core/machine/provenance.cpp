#include "core/machine/provenance.hpp"

#include <unistd.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <span>
#include <vector>

#include "core/checksum.hpp"
#include "core/error.hpp"

namespace sluice {

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) {
        return "localhost";
    }
    return name.data();
}

std::string build_id() {
    const char* const path = "/proc/self/exe";
    std::ifstream file(path, std::ios::binary);
    std::vector<char> block(std::size_t{1} << 20);
    Checksum checksum;
    while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
        checksum.add(std::as_bytes(std::span(block).first(static_cast<std::size_t>(file.gcount()))));
    }
    if (!file.is_open() || file.bad()) {
        throw Error(ExitCode::io_error,
                    {.id = "E-IO-003", .where = path, .what = "cannot be read", .hint = "mount /proc"});
    }
    return hexadecimal(checksum.value());
}

}  // namespace sluice
