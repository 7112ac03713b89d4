#include "core/device/gpu_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr int oldest_major = 8;  // asynchronous copies to shared memory, and bf16 and tf32 on the tensor cores

/// One entry of CMAKE_CUDA_ARCHITECTURES.
struct Architecture {
    ComputeCapability capability;
    char scope = '\0';  // 'a', 'f' or nothing
    bool ptx = true;    // which the driver compiles
};

/// "90a-real": a number whose last digit is the minor version.
Architecture parse(std::string_view text) {
    int number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    expects(error == std::errc(), "CMAKE_CUDA_ARCHITECTURES: an entry that is no number");
    std::string_view suffix = text.substr(static_cast<std::size_t>(rest - text.data()));
    Architecture architecture{.capability = {number / 10, number % 10}};
    if (suffix.starts_with('a') || suffix.starts_with('f')) {
        architecture.scope = suffix.front();
        suffix.remove_prefix(1);
    }
    architecture.ptx = suffix != "-real";
    return architecture;
}

bool runs_on(const Architecture& code, ComputeCapability gpu) {
    const ComputeCapability made_for = code.capability;
    const bool same_major = made_for.major == gpu.major;
    if (code.scope == 'a') {
        return same_major && made_for.minor == gpu.minor;
    }
    if (same_major && made_for.minor <= gpu.minor) {
        return true;
    }
    return code.scope == '\0' && code.ptx && made_for.major < gpu.major;
}

bool has_wgmma(const Architecture& code) {
    return code.scope == 'a' && code.capability.major == 9 && code.capability.minor == 0;
}

}  // namespace

MatrixInstructions choose_matrix_instructions(ComputeCapability capability, std::string_view architectures,
                                              const std::string& gpu) {
    const std::string number = fmt::format("{}{}", capability.major, capability.minor);
    if (capability.major < oldest_major) {
        throw Error(ExitCode::unavailable,
                    {.id = "E-GPU-063",
                     .where = gpu,
                     .what = fmt::format("is a GPU of architecture sm_{}, expected sm_80 or later (this build: {})",
                                         number, architectures),
                     .hint = "use an NVIDIA GPU of the Ampere generation or later, or set run.device = \"host\""});
    }
    bool runs = false;
    for (std::size_t at = 0; at < architectures.size();) {
        const std::size_t end = std::min(architectures.find(',', at), architectures.size());
        const Architecture code = parse(architectures.substr(at, end - at));
        at = end + 1;
        if (runs_on(code, capability)) {
            if (has_wgmma(code)) {
                return MatrixInstructions::wgmma;
            }
            runs = true;
        }
    }
    if (!runs) {
        const char* const scope = capability.major == 9 ? "a" : "";
        throw Error(ExitCode::unavailable,
                    {.id = "E-GPU-063",
                     .where = gpu,
                     .what = fmt::format("is a GPU of architecture sm_{}, and this build has code for {} only", number,
                                         architectures),
                     .hint = fmt::format("build with {}{} in CMAKE_CUDA_ARCHITECTURES, or set run.device = \"host\"",
                                         number, scope)});
    }
    return MatrixInstructions::mma;
}

}  // namespace sluice
