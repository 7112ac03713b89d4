#include <fmt/format.h>

#include <array>
#include <string>
#include <system_error>
#include <utility>

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

/// Why strace cannot trace here; empty: it can.
std::string why_not_traced(const Job& job, const std::filesystem::path& trace) {
    const std::filesystem::path probe = job.folder() / "probe.csv";
    try {
        Attempt attempt(job.command({.output = probe, .before = {"strace", "-f", "-qq", "-o", trace.native()}}));
        const int code = attempt.wait();
        remove_output(probe);
        return code == 0 ? "" : fmt::format("strace cannot trace here (exit code {})", code);
    } catch (const std::system_error& error) {
        return error.what();
    }
}

/// One kind of call that fails with one error, in a run of its own for each n.
class FailingCall {
public:
    FailingCall(const Setting& setting, const Call& call, std::string error, std::string reference,
                std::filesystem::path trace, Tally& tally)
        : setting_(setting),
          call_(call),
          error_(std::move(error)),
          reference_(std::move(reference)),
          trace_(std::move(trace)),
          tally_(tally) {}

    /// The n-th of these calls fails; then the same command again has to complete. Returns whether a run has so many.
    [[nodiscard]] bool fail(std::uint64_t nth) {
        const Job& job = setting_.job;
        const std::filesystem::path output = job.folder() / fmt::format("{}-{}-{}.csv", call_.name, error_, nth);
        const std::string story = fmt::format("{} number {} fails with {}", call_.name, nth, error_);
        Attempt failed(job.command({.output = output, .before = failing(call_, error_, nth, output, trace_)}));
        const int code = failed.wait();
        const bool injected = contents_of(trace_).find("(INJECTED)") != std::string::npos;
        if (!injected && code == 0) {
            inspect(output, story);
            return false;
        }
        ++tally_.counts["failures"];
        ++tally_.counts[fmt::format("exit code {}", code)];
        if (code == 0) {
            ++tally_.counts[fmt::format("harmless: {}", call_.name)];
            inspect(output, story);
            return true;
        }
        if (!is_allowed(code, output) || !is_told(job.log())) {
            tally_.problems.push_back(fmt::format("{}: exit code {}: {}", story, code, job.log()));
            return true;
        }
        Attempt next(job.command({.output = output}));
        if (const int end = next.wait(); end != 0) {
            tally_.problems.push_back(fmt::format("{}: then exit code {}: {}", story, end, job.log()));
            return true;
        }
        inspect(output, story);
        setting_.progress(tally_);
        return true;
    }

private:
    void inspect(const std::filesystem::path& output, const std::string& story) {
        inspect_into(tally_, setting_.job, output, {reference_}, story);
    }

    const Setting& setting_;
    Call call_;
    std::string error_;
    std::string reference_;
    std::filesystem::path trace_;
    Tally& tally_;
};

}  // namespace

Tally fail_calls(const Setting& setting, const std::vector<std::string>& errors, std::uint64_t stride) {
    Tally tally{.name = "failing calls"};
    const Instant begin = Clock::now();
    const std::string reference = undisturbed(setting.job);
    const std::filesystem::path trace = setting.job.folder() / "strace.txt";
    tally.skipped = why_not_traced(setting.job, trace);
    if (!tally.skipped.empty()) {
        return tally;
    }
    std::uint64_t offset = 0;
    for (const Call& call : calls) {
        for (const std::string& error : errors) {
            FailingCall failing_call(setting, call, error, reference, trace, tally);
            std::uint64_t nth = 1 + offset++ % stride;
            while (tally.problems.empty() && failing_call.fail(nth)) {
                nth += stride;
            }
        }
    }
    tally.seconds = Seconds(Clock::now() - begin).count();
    return tally;
}

}  // namespace sluice::torture
