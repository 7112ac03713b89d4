#include "tools/runtime/job_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/commit/file.hpp"
#include "core/commit/manifest.hpp"
#include "core/commit/place_file.hpp"
#include "core/config/config.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/machine/cgroup.hpp"
#include "core/machine/launch.hpp"
#include "core/machine/provenance.hpp"
#include "core/process/standard_error.hpp"
#include "core/text/wording.hpp"
#include "scheduler/text_table.hpp"
#include "slurm/stop_reason.hpp"
#include "tools/runtime/job_attempts.hpp"
#include "tools/runtime/job_file.hpp"
#include "tools/runtime/run_settings.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t least_held = std::uint64_t{64} << 20;  // bytes of results, until the items are counted, or
constexpr std::uint64_t share_held = 16;                       // that part of the memory
constexpr std::size_t most_of_end = 91;                        // characters: several fit into a message

/// Checks that the files still match the run's identity. They outlive the output.
std::function<void()> check_of_files(const PreparedJob& prepared) {
    std::vector<const WatchedAppFile*> app_files;
    std::ranges::transform(prepared.app_files, std::back_inserter(app_files), &std::unique_ptr<WatchedAppFile>::get);
    return [input = prepared.source.get(), weights = prepared.weights_file.get(), app_files = std::move(app_files)] {
        input->check_content();
        for (const WatchedAppFile* const file : app_files) {
            file->check_content();
        }
        if (weights != nullptr) {
            weights->check_content();
        }
    };
}

std::vector<PublishedInput> inputs_of(const ItemSource& source) {
    std::vector<PublishedInput> inputs;
    for (const SourceFile& file : source.files()) {
        inputs.push_back({.path = without_dots(absolute_path(file.path)).native(),
                          .bytes = file.bytes,
                          .first_item = file.first_item,
                          .items = file.items});
    }
    return inputs;
}

/// For CommittedOutputOptions::count.
std::optional<CountedItems> items_of(const ItemSource& source, UntilCounted until) {
    const bool waits = until == UntilCounted::wait;
    if (waits) {
        static_cast<void>(source.wait_for(std::numeric_limits<std::uint64_t>::max(), {}));
    }
    if (!source.known().is_all) {
        return std::nullopt;
    }
    return CountedItems{.items = source.count(), .inputs = inputs_of(source)};
}

CommittedOutputOptions options_of(const PreparedJob& prepared) {
    const JobConfig::Output& output = prepared.job.output;
    std::function<std::optional<CountedItems>(UntilCounted)> count;
    if (prepared.plan.most_items) {
        count = [&source = *prepared.source](UntilCounted until) { return items_of(source, until); };
    }
    return {
        .path = output.path,
        .format = output.format,
        .codec = prepared.codec.get(),
        .items = prepared.plan.items,
        .chunk_items = prepared.plan.chunk_items,
        .count = std::move(count),
        .most_held = std::max(least_held, read_available_memory() / share_held),
        .settings = settings_of(prepared),
        .me = this_process(read_launch().slurm_job.value_or(std::string()), this_attempt().restarts),
        .nonfinite = output.nonfinite,
        // Without its name g++ 12 destroys its function twice when a later member throws.
        .policy = CommitPolicy{.check_sources = check_of_files(prepared)},
        .notes = {.inputs = inputs_of(*prepared.source), .provenance = {{"build", build_id()}, {"host", host_name()}}}};
}

RunPaths paths_of(const JobConfig::Output& output) {
    return run_paths(output.path, extension_of(output.format));
}

std::optional<RunIdentity> identity_at(const JobConfig::Output& output) {
    const RunPaths paths = paths_of(output);
    if (!status_of(paths.run_folder())) {
        return std::nullopt;
    }
    const RunFolders folders = open_run_folder(paths);
    return read_run_identity(paths);
}

}  // namespace

bool is_new(const JobConfig::Output& output) {
    const RunPaths paths = paths_of(output);
    return !status_of(paths.manifest()) && !status_of(paths.identity()) && attempts_of(paths).empty();
}

RunChoices choices_of_run(const JobConfig::Output& output) {
    RunChoices choices;
    if (const std::optional<RunIdentity> identity = identity_at(output)) {
        choices.chunk_items = identity->chunk_items;
        for (const auto& [name, value] : identity->settings) {
            if (name == device_setting) {
                choices.device = value;
            } else if (name == instructions_setting) {
                choices.instructions = find_host_instructions(value);
            } else if (name == gpu_setting) {
                choices.gpu = value;
            }
        }
    }
    return choices;
}

std::optional<CountedInput> counted_by_run(const JobConfig& job) {
    const std::optional<RunIdentity> identity = identity_at(job.output);
    if (!identity) {
        return std::nullopt;
    }
    const std::map<std::string, std::string> recorded(identity->settings.begin(), identity->settings.end());
    const auto stamp = recorded.find(input_setting);
    const RunSettings wanted = settings_of_input(job);
    const bool is_read_alike = recorded.contains(count_setting) == job.input.count.has_value() &&
                               std::ranges::all_of(wanted, [&](const auto& setting) {
                                   const auto found = recorded.find(setting.first);
                                   return found != recorded.end() && found->second == setting.second;
                               });
    if (!is_read_alike || stamp == recorded.end()) {
        return std::nullopt;
    }
    return CountedInput{.stamp = stamp->second, .items = identity->items};
}

bool is_published(const JobConfig::Output& output) {
    const RunPaths paths = paths_of(output);
    if (!status_of(paths.run_folder())) {
        return false;
    }
    const RunFolders folders = open_run_folder(paths);
    return read_manifest(paths).has_value();
}

std::unique_ptr<CommittedOutput> open_output(const PreparedJob& job, RankBoard& board) {
    CommittedOutputOptions options = options_of(job);
    options.on_commit = [&board](std::uint64_t chunks, std::uint64_t all) {
        board.set_committed({.chunks = chunks, .all = all});
    };
    options.on_wait = [path = escaped(job.job.output.path.native())](const std::string& what) {
        say(fmt::format("sluice: {}: {}\n", path, what));
    };
    return std::make_unique<CommittedOutput>(std::move(options));
}

std::filesystem::path attempt_folder(const JobConfig::Output& to, const CommittedOutput& output) {
    return paths_of(to).attempt(output.attempt());
}

std::vector<Attempt> look_at_attempts(const JobConfig::Output& to, const CommittedOutput& output, bool retry) {
    if (retry) {
        note_fresh_start(attempt_folder(to, output));
        return {};
    }
    std::vector<Attempt> attempts = read_attempts(paths_of(to), output.attempt());
    std::vector<std::uint64_t> suspects = suspected_chunks(attempts);
    std::erase_if(suspects, [&](std::uint64_t chunk) { return chunk < output.first_chunk(); });
    if (!is_hopeless(attempts, suspects)) {
        return attempts;
    }
    const std::size_t deaths = deaths_without_progress(attempts);
    std::erase_if(attempts, [](const Attempt& attempt) { return !attempt.died; });
    std::string ends;
    for (const Attempt& attempt : std::span(attempts).last(std::min(most_deaths, attempts.size()))) {
        ends += fmt::format("; attempt {}: {}", attempt.number, shortened(attempt.end, most_of_end));
    }
    throw Error(ExitCode::no_progress,
                {.id = "E-RUN-082",
                 .where = escaped(to.path.native()),
                 .what = fmt::format("{} attempts in a row died without a new chunk{}", deaths, ends),
                 .hint = "find out what they died of; --retry tries again"});
}

std::vector<AttemptSummary> attempts_at(const JobConfig::Output& to, const CommittedOutput& output) {
    std::vector<AttemptSummary> attempts = earlier_attempts(paths_of(to), output.attempt());
    attempts.push_back({.number = output.attempt()});
    return attempts;
}

std::string already_complete(const std::filesystem::path& output, std::uint64_t items) {
    return fmt::format("{} is already complete: {}\n", escaped(output.native()), count_of(items, "item"));
}

RunIdentity identity_of(const PreparedJob& job) {
    return identity_of(options_of(job));
}

OutputState check_output(const PreparedJob& job) {
    return look_at_output(options_of(job));
}

void keep_job(const PreparedJob& job) {
    const RunPaths paths = paths_of(job.job.output);
    static_cast<void>(place_text(kept_text(job.job, paths), paths.job_file(), paths.run_folder()));
}

void warn_at_the_end(const CommittedOutput& output, const PreparedJob& job) {
    for (const ErrorText& warning : output.warnings()) {
        say(warning);
    }
    const std::uint64_t values = output.complete()->nonfinite();
    if (job.job.output.nonfinite == NonfinitePolicy::flag && values != 0) {
        say(ErrorText{.id = "W-NUM-082",
                      .where = escaped(job.job.output.path.native()),
                      .what = job.codec->counts_nonfinite_items()
                                  ? fmt::format("{} with scores that are NaN or infinite", count_of(values, "item"))
                                  : fmt::format("{} NaN or infinite", count_of(values, "score"))});
    }
}

void say_what_was_found(const CommittedOutput& output, const PreparedJob& job, bool quiet) {
    const std::string path = escaped(job.job.output.path.native());
    for (const std::string& line : output.dropped()) {
        say(ErrorText{.id = "W-CKP-086", .where = path, .what = line});
    }
    for (const std::string& line : output.damaged_parts()) {
        say(ErrorText{.id = "W-CKP-087", .where = path, .what = line, .hint = "check the file system"});
    }
    const ChunkGrid grid = job.plan.grid();
    if (!quiet && grid.begin() != 0) {
        say(fmt::format("sluice: {}: resuming after {} of {} chunks ({} of {} items)\n", path, grid.begin(),
                        grid.chunks(), grid.items_done(), grid.items()));
    }
}

}  // namespace sluice
