#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/app.hpp"
#include "core/config.hpp"

namespace sluice {

/// What a check of a job's files found; sizes in bytes.
struct JobFacts {
    std::uint64_t items = 0;
    std::uint64_t input_file_bytes = 0;
    std::uint32_t item_bytes = 0;               ///< Of an item on the wire.
    std::optional<std::uint64_t> weight_bytes;  ///< nullopt: random weights.
    std::uint32_t chunk_items = 0;
    std::uint64_t chunks = 0;
};

/// Opens everything that the job reads, reads all of it once and tries everything that it writes, as a run does,
/// without computing and without leaving a file. Throws the same Error as the run would.
[[nodiscard]] JobFacts check_job(const JobConfig& job, const App& app);

/// Refuses a report that could not be written at the end of a run. Throws Error (cannot_create).
void check_report_path(const std::filesystem::path& report);

}  // namespace sluice
