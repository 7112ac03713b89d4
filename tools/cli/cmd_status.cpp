#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>

#include "core/commit/attempt_folder.hpp"
#include "core/commit/file.hpp"
#include "core/commit/held_folder.hpp"
#include "core/commit/manifest.hpp"
#include "core/error.hpp"
#include "slurm/run_files.hpp"
#include "slurm/status_text.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/find_run.hpp"
#include "tools/runtime/run_observer.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

constexpr std::chrono::seconds look_every{1};

void status_options(Options& options) {
    options.add_options()("watch,w", "print it again every second, until the attempt has ended and none follows");
}

bool is_gone(const RunPaths& paths, const RunView& view) {
    if (!view.status || view.status->end) {
        return false;
    }
    const std::optional<Owner> owner = newest_owner(paths);
    return owner && has_ended(*owner, this_process({}, 0));
}

/// A run that was killed once its output was complete could not say so any more.
void add_what_manifest_tells(const RunPaths& paths, RunView& view) {
    if (!view.status || view.status->end) {
        return;
    }
    if ((view.gone || is_stale(view) || is_done(view)) && status_of(paths.manifest())) {
        RunStatus& status = *view.status;
        status.state = RunState::complete;
        status.items_done = status.items;
        status.items_committed = status.items;
        status.chunks_done = status.chunks;
        status.chunks_committed = status.chunks;
        status.end.emplace();
    }
}

/// What there is to say of a run whose status is missing or cannot be read; empty: it has not begun.
std::string what_folder_tells(const RunPaths& paths) {
    const bool is_complete = status_of(paths.manifest()).has_value();
    if (!is_complete && attempts_of(paths).empty()) {
        return {};
    }
    const bool is_there = status_of(RunFiles{paths.run_folder()}.status()).has_value();
    return fmt::format("{}: its status.json {}", is_complete ? "complete" : "unknown, but an attempt has started",
                       is_there ? "is damaged, or another version's" : "is missing");
}

void look_for_output(const RunPaths& paths, RunView& view) {
    if (!view.status || !view.status->end || view.status->state != RunState::complete) {
        return;
    }
    try {
        if (const std::optional<Manifest> manifest = read_manifest(paths)) {
            view.missing = missing_files(paths, *manifest);
        }
    } catch (const Error&) {  // a damaged manifest hides no progress: verify tells
    }
}

/// Returns false when its folder is no longer there: a run that ends with nothing to keep removes it.
bool print_status_of(const NamedRun& run, const ParsedArguments& parsed) {
    RunObserver observer(run.paths.run_folder(), run.folders.foreign_owner());
    const bool json = parsed.has("json");
    const bool clears = ::isatty(STDOUT_FILENO) == 1 && !json;
    while (is_in_place(run.paths.run_folder())) {
        RunView view = observer.look();
        view.untold = view.status ? std::string() : what_folder_tells(run.paths);
        view.gone = is_gone(run.paths, view);
        add_what_manifest_tells(run.paths, view);
        look_for_output(run.paths, view);
        print((parsed.has("watch") && clears ? "\x1b[H\x1b[2J" : "") + (json ? status_json(view) : status_text(view)));
        if (!parsed.has("watch") || is_done(view) || !is_stdout_of_use()) {
            return true;
        }
        std::this_thread::sleep_for(look_every);
    }
    return false;
}

int print_status(const ParsedArguments& parsed) {
    while (!print_status_of(named_run_to_read(operand_of(parsed, "run"), parsed.apps), parsed)) {
    }
    return 0;
}

}  // namespace

const Command status_command{
    .name = "status",
    .synopsis = "RUN [OPTION]...",
    .summary = "show how far a run is, how fast, and which rank is slowest",
    .details =
        "RUN is the run's output or its folder, the job file, or the number of a Slurm job. The run\n"
        "itself writes its status once a second; squeue is asked when it does not, and sacct for what\n"
        "squeue has forgotten. Neither is required.",
    .exit_codes =
        "  0   printed                   66  there is no such run, or no longer\n"
        "  64  wrong command line        69  a job's number, but no Slurm to ask\n"
        "  77  a file of it is not its owner's\n"
        "  78  wrong job file",
    .example = "  {program} status labels.csv --watch",
    .json = true,
    .own_options = status_options,
    .most_operands = 1,
    .run = print_status,
};

}  // namespace sluice
