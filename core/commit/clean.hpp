#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/commit/attempt_folder.hpp"
#include "core/error.hpp"

namespace sluice {

/// Once the manifest is there: removes the attempts' folders, but for the journal of attempt `published`, and leaves
/// alone what may belong to somebody alive. Returns what it could not remove, a warning each (W-OUT-112): the output is
/// complete all the same.
[[nodiscard]] std::vector<ErrorText> clean_run(const RunPaths& paths, std::uint32_t published, const Owner& me,
                                               std::chrono::seconds alive_within);

/// Once `attempt` has taken over what was there: removes the data, not the journals, of the attempts before it whose
/// owners are gone, so that attempts do not add up on the disk. Returns warnings as clean_run.
[[nodiscard]] std::vector<ErrorText> remove_earlier_data(const AttemptFolder& attempt,
                                                         std::chrono::seconds alive_within);

/// Of an attempt that has committed nothing and ends: unless there is another one, or it remembers a rank's death, all
/// that it has made goes, as if the run had never begun. What cannot be removed stays: why it ends is said already.
void remove_if_alone(const AttemptFolder& attempt);

}  // namespace sluice
