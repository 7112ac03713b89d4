#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/commit/attempt_folder.hpp"
#include "core/error.hpp"

namespace sluice {

/// Call once the manifest exists. Removes the attempts' folders, except the journal of attempt `published` and what may
/// belong to a running attempt. Returns a warning (W-OUT-112) for each file that could not be removed; the output is
/// complete nevertheless.
[[nodiscard]] std::vector<ErrorText> clean_run(const RunPaths& paths, std::uint32_t published, const Owner& me,
                                               std::chrono::seconds alive_within);

/// Call once `attempt` has adopted earlier results. Removes the data, but not the journals, of earlier attempts whose
/// owners have ended, so that disk use does not grow with each attempt. Returns warnings as clean_run.
[[nodiscard]] std::vector<ErrorText> remove_earlier_data(const AttemptFolder& attempt,
                                                         std::chrono::seconds alive_within);

/// For an attempt that ends without having committed anything: removes all that it has created, as if the run had never
/// begun, unless there is another attempt or it has recorded a rank's death. Files that cannot be removed stay, without
/// a warning: the reason for its end is reported already.
void remove_if_alone(const AttemptFolder& attempt);

/// The same for an end before it: removes job.json and the empty folders, unless there is an attempt or a manifest.
void remove_if_unattempted(const RunPaths& paths);

}  // namespace sluice
