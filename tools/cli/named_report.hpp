#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "core/app.hpp"

namespace sluice {

struct NamedReport {
    std::filesystem::path path;
    nlohmann::json json;
};

/// The report at `name`, or the newest one of the run that `name` means. Throws Error (no_input, bad_data).
[[nodiscard]] NamedReport read_named_report(const std::string& name, const Apps& apps);

/// Of reports of which one lacks what every report has: names it. Throws Error (bad_data).
[[noreturn]] void refuse_reports(std::span<const NamedReport> reports, const nlohmann::json::exception& error);

}  // namespace sluice
