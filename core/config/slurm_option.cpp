#include "core/config/slurm_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/error.hpp"
#include "core/text/parse.hpp"
#include "core/text/program_name.hpp"

namespace sluice {
namespace {

constexpr std::size_t longest_option = 512;
constexpr std::uint64_t minute = 60;
constexpr std::uint64_t hour = 60 * minute;
constexpr std::uint64_t day = 24 * hour;
constexpr std::uint64_t longest = 365 * day;

/// Options that would undo what sluice sets, or would make sbatch read, run or say something else.
// clang-format off
constexpr std::array<std::string_view, 37> reserved{
    "array", "batch", "chdir", "clusters", "cpu-bind", "cpus-per-gpu", "error", "export", "export-file",
    "get-user-env", "gid", "gpu-bind", "gpus", "gpus-per-socket", "gpus-per-task", "help", "hold", "ignore-pbs",
    "input", "mem-per-cpu", "mem-per-gpu", "mem-bind", "no-kill", "ntasks", "ntasks-per-core", "ntasks-per-gpu",
    "ntasks-per-socket", "parsable", "quiet", "test-only", "tres-per-task", "uid", "usage", "version", "wait",
    "wait-all-nodes", "wrap"};
// clang-format on

/// Of one submission only: a line of the script would have the jobs that follow wait for the same once more.
constexpr std::array<std::string_view, 2> of_a_submission{"dependency", "kill-on-invalid-dep"};

/// Of those that sluice passes, what the command line may not set anew either.
// clang-format off
constexpr std::array<std::string_view, 6> needed_options{
    "comment", "no-requeue", "ntasks-per-node", "open-mode", "output", "requeue"};
// clang-format on

bool is_lower(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool stands_for_one_of(std::string_view name, std::span<const std::string_view> names) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view one) { return one.starts_with(name); });
}

std::optional<std::uint64_t> number(std::string_view text, std::uint64_t most) {
    const auto value = parse_number<std::uint64_t>(text);
    return value && *value <= most ? value : std::nullopt;
}

std::optional<std::uint64_t> with_unit(std::string_view text) {
    static constexpr std::array<std::pair<char, std::uint64_t>, 4> units{
        {{'s', 1}, {'m', minute}, {'h', hour}, {'d', day}}};
    for (const auto& [letter, seconds] : units) {
        if (text.ends_with(letter)) {
            const auto count = number(text.substr(0, text.size() - 1), longest);
            return count ? std::optional(*count * seconds) : std::nullopt;
        }
    }
    return std::nullopt;
}

/// "HH:MM:SS", "D-HH:MM:SS".
std::optional<std::uint64_t> with_colons(std::string_view text) {
    std::uint64_t total = 0;
    if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
        const auto days = number(text.substr(0, dash), longest / day);
        if (!days) {
            return std::nullopt;
        }
        total = *days * day;
        text.remove_prefix(dash + 1);
    }
    const std::size_t first = text.find(':');
    const std::size_t second = first == std::string_view::npos ? first : text.find(':', first + 1);
    if (second == std::string_view::npos) {
        return std::nullopt;
    }
    const auto hours = number(text.substr(0, first), longest / hour);
    const auto minutes = number(text.substr(first + 1, second - first - 1), 59);
    const auto seconds = number(text.substr(second + 1), 59);
    if (!hours || !minutes || !seconds) {
        return std::nullopt;
    }
    return total + *hours * hour + *minutes * minute + *seconds;
}

}  // namespace

std::string problem_with_option(std::string_view option, OptionOrigin origin) {
    const auto refuse = [&](std::string_view expected) {
        return fmt::format("got {}, expected {}", quoted(option), expected);
    };
    if (option.size() > longest_option) {
        return refuse(fmt::format("at most {} bytes", longest_option));
    }
    // A line of a script that sbatch would take apart cannot hold what an argument can.
    const bool in_a_script = origin == OptionOrigin::job_file;
    if (!std::all_of(option.begin(), option.end(), [&](char c) {
            return c >= ' ' && c <= '~' &&
                   !(in_a_script && std::string_view(" \"'\\#").find(c) != std::string_view::npos);
        })) {
        return refuse(in_a_script ? "printable ASCII without space, quotes, \\ and #" : "printable ASCII");
    }
    const bool has_dashes = option.starts_with("--");
    const std::string_view name = has_dashes ? option.substr(2, option.substr(2).find('=')) : std::string_view();
    if (name.size() < 2 || !std::all_of(name.begin(), name.end(), [](char c) { return is_lower(c) || c == '-'; })) {
        return refuse("one long option of sbatch, as in --switches=1@00:30:00");
    }
    const std::span<const std::string_view> ours =
        in_a_script ? std::span<const std::string_view>(skippable_options) : needed_options;
    const auto is_one_of = [&](std::span<const std::string_view> names) {
        return std::ranges::find(names, name) != names.end();
    };
    if (!in_a_script && is_one_of(skippable_options) && !is_one_of(needed_options)) {
        return {};  // as --mem: a whole name is no abbreviation
    }
    if (stands_for_one_of(name, ours)) {
        return refuse("an option that sluice does not set itself; most have a key of their own in [slurm]");
    }
    if (stands_for_one_of(name, reserved)) {
        return refuse("an option that leaves tasks, script, log, environment and what sbatch prints as they are");
    }
    if (in_a_script && stands_for_one_of(name, of_a_submission)) {
        return refuse(fmt::format("it on the command line: {} submit JOB.toml -- {}", program_name(), option));
    }
    return {};
}

std::vector<std::string_view> kept_options() {
    std::vector<std::string_view> names(reserved.begin(), reserved.end());
    names.insert(names.end(), needed_options.begin(), needed_options.end());
    std::ranges::sort(names);
    return names;
}

std::optional<std::chrono::seconds> parse_duration(std::string_view text) {
    const auto seconds = text.find(':') == std::string_view::npos ? with_unit(text) : with_colons(text);
    if (!seconds || *seconds > longest) {
        return std::nullopt;
    }
    return std::chrono::seconds(*seconds);
}

std::string duration_text(std::chrono::seconds duration) {
    const auto total = static_cast<std::uint64_t>(duration.count());
    const std::string clock =
        fmt::format("{:02}:{:02}:{:02}", total % day / hour, total % hour / minute, total % minute);
    return total < day ? clock : fmt::format("{}-{}", total / day, clock);
}

}  // namespace sluice
