#pragma once

#include <filesystem>

#include "tools/job_plan.hpp"

namespace sluice {

/// What the preparation of a run leaves to the run itself: every item is read once, and the first device is opened.
/// Throws the Error that the run would.
void check_prepared_job(const PreparedJob& prepared);

/// Refuses a report that could not be written at the end of a run. Throws Error (cannot_create).
void check_report_path(const std::filesystem::path& report);

}  // namespace sluice
