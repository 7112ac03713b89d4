#include "slurm/submission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/commit/file.hpp"
#include "core/text/parse.hpp"

namespace sluice {
namespace {

constexpr std::size_t longest_id = 32;
constexpr std::size_t longest_submission = 65'536;

bool is_name(std::string_view text) {
    return text.size() <= longest_id && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                      c == '-' || c == '.';
           });
}

bool is_job_number(std::string_view text) {
    return text.size() <= longest_id && is_number(text);
}

}  // namespace

std::optional<Submission> parse_submission(std::string_view text) {
    while (text.ends_with('\n')) {
        text.remove_suffix(1);
    }
    text = text.substr(text.rfind('\n') + 1);  // a site's plugin may print something first
    const std::size_t semicolon = text.find(';');
    const std::string_view job = text.substr(0, semicolon);
    const std::string_view cluster = semicolon == std::string_view::npos ? "" : text.substr(semicolon + 1);
    if (!is_job_number(job) || !is_name(cluster)) {
        return std::nullopt;
    }
    return Submission{.job = std::string(job), .cluster = std::string(cluster)};
}

std::optional<Submission> read_submission(const std::filesystem::path& file) {
    const std::optional<std::string> text = read_text(file, longest_submission);
    const nlohmann::json json = nlohmann::json::parse(text.value_or(""), nullptr, false);
    if (!json.is_object() || !json.contains("job") || !json["job"].is_string()) {
        return std::nullopt;
    }
    const std::string cluster = json.contains("cluster") && json["cluster"].is_string() ? json["cluster"] : "";
    std::optional<Submission> submission =
        parse_submission(cluster.empty() ? json["job"].get<std::string>()
                                         : fmt::format("{};{}", json["job"].get<std::string>(), cluster));
    if (submission && json.contains("log") && json["log"].is_string()) {
        submission->log = json["log"];
    }
    if (submission && json.contains("earlier") && json["earlier"].is_array()) {
        for (const nlohmann::json& job : json["earlier"]) {
            if (job.is_string() && is_job_number(job.get<std::string>())) {
                submission->earlier.push_back(job);
            }
        }
    }
    return submission;
}

void write_submission(const std::filesystem::path& file, const Submission& submission) {
    nlohmann::ordered_json json{
        {"job", submission.job}, {"cluster", submission.cluster}, {"earlier", submission.earlier}};
    if (submission.log) {
        json["log"] = *submission.log;
    }
    write_text_durably(file, json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void write_follower(const std::filesystem::path& file, const std::string& job, Submission next) {
    if (const std::optional<Submission> now = read_submission(file); now && now->job == job) {
        next.earlier = now->earlier;
    }
    next.earlier.push_back(job);
    write_submission(file, next);
}

}  // namespace sluice
