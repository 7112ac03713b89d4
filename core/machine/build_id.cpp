#include "core/machine/build_id.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "core/error.hpp"

namespace sluice {

std::string build_id() {
    const char* const path = "/proc/self/exe";
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file.is_open() || file.bad()) {
        throw Error(ExitCode::io_error,
                    {.id = "E-IO-003", .where = path, .what = "cannot be read", .hint = "mount /proc"});
    }
    return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

}  // namespace sluice
