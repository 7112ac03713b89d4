#include "core/machine/memory_limit.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

#include "core/machine/cgroup.hpp"

namespace sluice {
namespace {

std::uint64_t number_in(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() ? number : no_memory_limit;
}

}  // namespace

std::uint64_t memory_of_cgroup(std::string_view text) {
    return number_in(text);
}

std::uint64_t memory_of_meminfo(std::string_view text) {
    constexpr std::string_view key = "MemAvailable:";
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) {
        return no_memory_limit;
    }
    constexpr std::uint64_t kibibyte = 1024;
    std::uint64_t bytes = 0;
    return __builtin_mul_overflow(number_in(text.substr(at + key.size())), kibibyte, &bytes) ? no_memory_limit : bytes;
}

std::uint64_t read_memory_limit() {
    std::ifstream file("/proc/meminfo");
    const std::string meminfo{std::istreambuf_iterator<char>(file), {}};
    std::uint64_t least = memory_of_meminfo(meminfo);
    for (const std::filesystem::path& folder : own_cgroup_folders("memory")) {
        for (const char* const name : {"memory.max", "memory.limit_in_bytes"}) {
            least = std::min(least, memory_of_cgroup(first_line(folder / name)));
        }
    }
    return least;
}

}  // namespace sluice
