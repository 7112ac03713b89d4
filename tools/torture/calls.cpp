#include <fmt/format.h>

#include <array>
#include <system_error>

#include "core/clock.hpp"
#include "core/commit/attempt_folder.hpp"
#include "tools/torture/campaigns.hpp"

namespace sluice::torture {
namespace {

/// A system call, and whether all of a process's calls of that name are for the output; otherwise only those on its
/// paths are meant.
struct Call {
    const char* name;
    bool is_ours;
};

constexpr std::array calls{Call{"pwrite64", true}, Call{"fdatasync", true}, Call{"fsync", true},
                           Call{"mkdir", true},    Call{"link", true},      Call{"rename", true},
                           Call{"unlink", true},   Call{"openat", false},   Call{"close", false}};

/// The files of a first attempt whose names are known in advance.
std::vector<std::string> paths_of(const std::filesystem::path& output) {
    const RunPaths paths = run_paths(output, ".csv");
    const std::filesystem::path attempt = paths.attempt(1);
    std::vector<std::string> words;
    for (const std::filesystem::path& path :
         {output, paths.run_folder(), paths.identity(), paths.manifest(), paths.attempts(), attempt,
          attempt / "adopt.json", attempt / "adopt.json.new", owner_file(attempt), heartbeat_file(attempt),
          journal_file(attempt), part_file(attempt, 0)}) {
        words.insert(words.end(), {"-P", path.native()});
    }
    return words;
}

/// strace with the n-th of these calls failing, counted per thread.
std::vector<std::string> failing(const Call& call, const std::string& error, std::uint64_t nth,
                                 const std::filesystem::path& output, const std::filesystem::path& trace) {
    std::vector<std::string> words{
        "strace", "-f", "-qq", "-o", trace.native(), "-e", fmt::format("trace={}", call.name)};
    if (!call.is_ours) {
        const auto paths = paths_of(output);
        words.insert(words.end(), paths.begin(), paths.end());
    }
    words.insert(words.end(), {"-e", fmt::format("inject={}:error={}:when={}", call.name, error, nth)});
    return words;
}

/// Whether the message says where, what and what to do.
bool is_told(const std::string& log) {
    const std::size_t error = log.find("sluice: error[");
    return error != std::string::npos && log.find("\n  hint: ", error) != std::string::npos;
}

bool is_allowed(int code, const std::filesystem::path& output) {
    constexpr int cannot_create = 73;
    constexpr int io_error = 74;
    return code == io_error || (code == cannot_create && attempts_of(run_paths(output, ".csv")).empty());
}

}  // namespace

Tally fail_calls(const Setting& setting, const std::vector<std::string>& errors, std::uint64_t stride) {
    Tally tally{.name = "failing calls"};
    const Instant begin = Clock::now();
    const std::string reference = undisturbed(setting.job);
    const std::filesystem::path trace = setting.job.folder() / "strace.txt";
    const std::filesystem::path probe = setting.job.folder() / "probe.csv";
    try {
        Attempt attempt(
            setting.job.command({.output = probe, .before = {"strace", "-f", "-qq", "-o", trace.native()}}));
        const int code = attempt.wait();
        remove_output(probe);
        if (code != 0) {
            tally.skipped = fmt::format("strace cannot trace here (exit code {})", code);
            return tally;
        }
    } catch (const std::system_error& error) {
        tally.skipped = error.what();
        return tally;
    }
    std::uint64_t offset = 0;
    for (const Call& call : calls) {
        for (const std::string& error : errors) {
            for (std::uint64_t nth = 1 + offset++ % stride; tally.problems.empty(); nth += stride) {
                const std::filesystem::path output =
                    setting.job.folder() / fmt::format("{}-{}-{}.csv", call.name, error, nth);
                const std::string story = fmt::format("{} number {} fails with {}", call.name, nth, error);
                Attempt failed(
                    setting.job.command({.output = output, .before = failing(call, error, nth, output, trace)}));
                const int code = failed.wait();
                const bool injected = contents_of(trace).find("(INJECTED)") != std::string::npos;
                if (!injected && code == 0) {
                    inspect_into(tally, setting.job, output, {reference}, story);
                    break;  // fewer than n calls
                }
                ++tally.counts["failures"];
                ++tally.counts[fmt::format("exit code {}", code)];
                if (code == 0) {
                    ++tally.counts[fmt::format("harmless: {}", call.name)];
                    inspect_into(tally, setting.job, output, {reference}, story);
                    continue;
                }
                if (!is_allowed(code, output) || !is_told(setting.job.log())) {
                    tally.problems.push_back(fmt::format("{}: exit code {}: {}", story, code, setting.job.log()));
                    break;
                }
                Attempt next(setting.job.command({.output = output}));
                if (const int end = next.wait(); end != 0) {
                    tally.problems.push_back(fmt::format("{}: then exit code {}: {}", story, end, setting.job.log()));
                    break;
                }
                inspect_into(tally, setting.job, output, {reference}, story);
                setting.progress(tally);
            }
        }
    }
    tally.seconds = Seconds(Clock::now() - begin).count();
    return tally;
}

}  // namespace sluice::torture
