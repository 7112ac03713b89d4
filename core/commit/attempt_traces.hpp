#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/commit/run_paths.hpp"

namespace sluice {

/// What an attempt's folder tells of its size and length, whatever ended it: also of one that was killed.
struct AttemptTraces {
    using Time = std::chrono::system_clock::time_point;

    std::optional<Time> begin{};  ///< By the file system's clock, both.
    std::optional<Time> last_heartbeat{};
    std::optional<std::uint32_t> ranks{};  ///< nullopt: it did not come so far as to compute.
    std::optional<std::uint32_t> devices{};
    std::uint64_t items = 0;  ///< That it has committed itself.
};

[[nodiscard]] AttemptTraces read_traces(const RunPaths& paths, std::uint32_t attempt);

/// The attempt begins to compute. A plain note in its folder, as core/commit/attempt_history has them. Throws Error.
void note_begin(const std::filesystem::path& attempt, std::uint32_t ranks, std::uint32_t devices);

}  // namespace sluice
