#include "tools/cli/common_options.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/commit/run_paths.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/text/parse.hpp"
#include "slurm/run_files.hpp"

namespace sluice {

std::vector<Override> overrides_of(const ParsedArguments& parsed) {
    std::vector<Override> overrides;
    if (parsed.has("set")) {
        for (const std::string& text : parsed.options["set"].as<std::vector<std::string>>()) {
            overrides.push_back(parse_override(text));
        }
    }
    return overrides;
}

std::optional<std::uint32_t> count_option(const ParsedArguments& parsed, const char* name, std::uint32_t most) {
    if (!parsed.has(name)) {
        return std::nullopt;
    }
    const auto& text = parsed.options[name].as<std::string>();
    const auto count = parse_number<std::uint32_t>(text);
    if (!count || *count < 1 || *count > most) {
        refuse_usage(parsed.command, fmt::format("--{}: got {}, expected an integer 1..{}", name, quoted(text), most));
    }
    return count;
}

std::filesystem::path plan_of(const ParsedArguments& parsed) {
    if (!parsed.has("plan")) {
        refuse_usage(parsed.command, "got no --plan");
    }
    const auto& named = parsed.options["plan"].as<std::string>();
    std::filesystem::path plan = plain_path(named);
    const std::filesystem::path folder = plan.parent_path();
    // Beside it the run's status is replaced: elsewhere that name may be somebody's file.
    if (plan != RunFiles{folder}.plan() || !folder.filename().native().ends_with(run_folder_suffix)) {
        refuse_usage(parsed.command,
                     fmt::format("--plan: got {}, expected the plan.toml of a run's folder", quoted(named)));
    }
    return plan;
}

JobFile job_file_of(const ParsedArguments& parsed) {
    return {.path = operand_of(parsed, "job file"), .overrides = overrides_of(parsed)};
}

std::optional<JobConfig> job_of(const ParsedArguments& parsed) {
    if (parsed.operands.empty() && parsed.has("set")) {
        refuse_usage(parsed.command, "--set changes keys of a job, but no job file is named");
    }
    return parsed.operands.empty() ? std::nullopt : std::optional(read_job(job_file_of(parsed), parsed.apps));
}

std::string operand_of(const ParsedArguments& parsed, std::string_view what) {
    if (parsed.operands.empty() || parsed.operands.front().empty()) {
        refuse_usage(parsed.command, fmt::format("got no {}", what));
    }
    return parsed.operands.front();
}

std::string json_text(const nlohmann::ordered_json& json) {
    return escaped_json(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n";
}

}  // namespace sluice
