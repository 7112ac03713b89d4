#include "tools/runtime/run_settings.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/commit/run_identity.hpp"
#include "core/error.hpp"
#include "core/files/checksum.hpp"

namespace sluice {
namespace {

std::string text_of(const std::vector<ColumnRef>& columns) {
    nlohmann::json all = nlohmann::json::array();
    for (const ColumnRef& column : columns) {
        std::visit([&](const auto& number_or_name) { all.push_back(number_or_name); }, column);
    }
    return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// From the content, so that a copy elsewhere is the same model.
std::string stamp_of(const WeightBlob& weights) {
    const auto bytes = weights.memory.bytes();
    return fmt::format("{} bytes, XXH3 {}", bytes.size(),
                       fingerprint_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

/// What tells which file differs where the stamp of all of them does.
std::string digests_of(const std::vector<SourceFile>& files) {
    std::string digests;
    for (const SourceFile& file : files) {
        digests += fingerprint_of(file.stamp).substr(0, input_digest_length);
    }
    return digests;
}

/// A second setting of the same name would be left out of the identity.
void expects_unique_names(const RunSettings& settings) {
    const std::map<std::string, std::string> by_name(settings.begin(), settings.end());
    expects(by_name.size() == settings.size(), "an app names a key or a file as a setting of every run is named");
}

}  // namespace

RunSettings settings_of_input(const JobConfig& job) {
    RunSettings settings{
        {"app", job.app},
        {"input.format", std::string(name_of(job.input.format))},
        {"input.columns", text_of(job.input.columns)},
        {"input.header", job.input.header ? "true" : "false"},
    };
    if (job.input.count) {
        settings.emplace_back(count_setting, fmt::format("{}", *job.input.count));
    }
    return settings;
}

RunSettings settings_of(const PreparedJob& prepared) {
    const JobConfig& job = prepared.job;
    RunSettings settings = settings_of_input(job);
    settings.emplace_back(input_setting, prepared.source->stamp());
    if (const std::vector<SourceFile> files = prepared.source->files(); files.size() > 1) {
        settings.emplace_back(input_digests, digests_of(files));
    }
    for (const AppSettings::Entry& entry : job.settings.entries()) {
        if (!std::holds_alternative<std::filesystem::path>(entry.value)) {  // its files are identified by content
            settings.emplace_back(entry.name, plain_text(entry.value));
        }
    }
    settings.emplace_back(device_setting, name_of(prepared.plan.device));
    settings.emplace_back("run.precision", name_of(job.run.precision));
    if (prepared.plan.device == DeviceKind::host) {
        settings.emplace_back(instructions_setting, name_of(prepared.plan.instructions));
    } else {
        settings.emplace_back(gpu_setting, prepared.gpu);
    }
    if (job.model.random) {
        settings.emplace_back("model.random", fmt::format("{}", *job.model.random));
    } else {
        settings.emplace_back("model.weights", stamp_of(prepared.weights));
    }
    for (const auto& file : prepared.app_files) {
        settings.emplace_back(file->name(), file->stamp());
    }
    expects_unique_names(settings);
    return settings;
}

}  // namespace sluice
