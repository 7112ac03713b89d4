#include "core/machine/provenance.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/files/checksum.hpp"
#include "core/files/paths.hpp"
#include "core/system/descriptor.hpp"

namespace sluice {
namespace {

bool is_version(std::string_view word) {
    const auto is_part = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.'; };
    return std::ranges::all_of(word, is_part) && word.find('.') != std::string_view::npos;
}

}  // namespace

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) {
        return "localhost";
    }
    return name.data();
}

std::string build_id() {
    const char* const path = "/proc/self/exe";
    const Descriptor file(open_to_read(path));
    int error = file.number() < 0 ? errno : 0;
    std::vector<std::byte> block(std::size_t{1} << 20);
    Checksum checksum;
    for (std::uint64_t offset = 0, got = 1; error == 0 && got != 0; offset += got) {
        const Descriptor::Read read = file.read_at(offset, block);
        error = read.error;
        got = read.bytes;
        checksum.add(std::span(block).first(read.bytes));
    }
    if (error != 0) {
        throw Error(
            ExitCode::io_error,
            {.id = "E-IO-003", .where = path, .what = "cannot be read: " + system_text(error), .hint = "mount /proc"});
    }
    return hexadecimal(checksum.value());
}

std::string cpu_model() {
    return cpu_model_in(contents_of("/proc/cpuinfo"));
}

std::string nvidia_driver() {
    return driver_in(contents_of("/proc/driver/nvidia/version"));
}

std::string cpu_model_in(std::string_view cpuinfo) {
    constexpr std::string_view key = "model name";
    const std::size_t begin = cpuinfo.starts_with(key) ? 0 : cpuinfo.find("\nmodel name");
    if (begin == std::string_view::npos) {
        return {};
    }
    const std::string_view rest = cpuinfo.substr(begin + (begin == 0 ? 0 : 1));
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const std::size_t colon = line.find(": ");
    return colon == std::string_view::npos ? std::string() : escaped(line.substr(colon + 2));
}

std::string driver_in(std::string_view version) {
    std::istringstream words(std::string(version.substr(0, version.find('\n'))));
    for (std::string word; words >> word;) {
        if (is_version(word)) {
            return word;
        }
    }
    return {};
}

}  // namespace sluice
