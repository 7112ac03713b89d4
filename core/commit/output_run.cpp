#include "core/commit/output_run.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <array>
#include <cerrno>
#include <iterator>
#include <limits>
#include <utility>

#include "core/commit/attempt_history.hpp"
#include "core/commit/clean.hpp"
#include "core/commit/file.hpp"
#include "core/commit/publish.hpp"
#include "core/commit/run_folder.hpp"
#include "core/error.hpp"
#include "core/fault_point.hpp"
#include "core/input/checked.hpp"

namespace sluice {
namespace {

void check_same_job(const RunPaths& paths, const RunIdentity& identity) {
    const std::optional<RunIdentity> was = read_run_identity(paths);
    const std::vector<std::string> differing = was ? differences(*was, identity) : std::vector<std::string>();
    if (!was || !differing.empty()) {
        throw Error(ExitCode::cannot_create,
                    {.id = "E-OUT-024",
                     .where = escaped(paths.output.native()),
                     .what = was ? fmt::format("is the complete output of another job; differences: {}",
                                               fmt::join(differing, ", "))
                                 : "is complete, but its run's job.json is missing, so its job is unknown",
                     .hint = fmt::format("choose another [output].path, or remove it and {}",
                                         quoted(paths.run_folder().native()))});
    }
}

/// The folder nearest to the run's own that is there already.
std::filesystem::path where_it_goes(const RunPaths& paths) {
    for (const std::filesystem::path& folder : {paths.run_folder(), paths.published_folder()}) {
        if (status_of(folder)) {
            return folder;
        }
    }
    return paths.output.parent_path();
}

/// Only before the first attempt: later ones have some of it. Several parts of one file are put together at the end.
void check_space(const RunPaths& paths, const PartPlan& plan, std::uint64_t output_bytes) {
    const bool is_assembled = paths.layout == OutputLayout::file && plan.parts() > 1;
    const std::uint64_t bytes =
        checked_multiply(output_bytes, is_assembled ? 2 : 1).value_or(std::numeric_limits<std::uint64_t>::max());
    struct statvfs status = {};
    if (bytes == 0 || status_of(paths.epochs()) || ::statvfs(where_it_goes(paths).c_str(), &status) != 0 ||
        status.f_blocks == 0) {
        return;  // unknown need, or a file system that does not tell: writing finds out
    }
    const std::uint64_t available =
        checked_multiply(status.f_bavail, status.f_frsize).value_or(std::numeric_limits<std::uint64_t>::max());
    if (bytes > available) {
        throw Error(ExitCode::cannot_create,
                    {.id = "E-OUT-026",
                     .where = escaped(paths.output.native()),
                     .what = fmt::format("not enough space (need {} bytes, {} are free)", bytes, available),
                     .hint = "free space, or choose another file system"});
    }
}

RunFolders make_folders(const OutputRunOptions& options, const PartPlan& plan) {
    if (!find_run_folder(options.paths)) {
        check_space(options.paths, plan, options.bytes_to_come);  // before there is a folder that would stay
    }
    return make_run_folder(options.paths);
}

/// For what an attempt does on its way out: why it ends is said already, and what it cannot do is left undone.
template <class Action>
void try_to(Action&& action) {
    try {
        action();
    } catch (const Error&) {
        return;
    }
}

/// Unless there is another one by now.
void give_back(const std::filesystem::path& kept, const std::filesystem::path& file) {
    const int error = link_to(kept, file);
    if (error != 0 && error != EEXIST && !status_of(file)) {  // there are no links here
        static_cast<void>(rename_to(kept, file));
    }
}

}  // namespace

OutputState look_at_output(const RunPaths& paths, const RunIdentity& identity) {
    const std::optional<RunFolders> folders = find_run_folder(paths);
    if (!folders) {
        return OutputState::absent;
    }
    if (const std::optional<Manifest> manifest = read_manifest(paths)) {
        check_same_job(paths, identity);
        check_published_sizes(paths, *manifest);
        return OutputState::complete;
    }
    refuse_foreign_file_beside(paths);
    if (!status_of(paths.identity())) {
        return OutputState::absent;
    }
    establish_run_identity(paths, identity);  // there is one: it is compared
    return OutputState::unfinished;
}

OutputRun::OutputRun(OutputRunOptions options)
    : options_(std::move(options)), plan_(options_.identity.plan()), folders_(make_folders(options_, plan_)) {
    const RunPaths& paths = options_.paths;
    if (!find_complete()) {
        refuse_foreign_file_beside(paths);
        check_space(paths, plan_, options_.bytes_to_come);
        explained([this] { begin(); });
    }
}

bool OutputRun::find_complete() {
    const std::optional<Manifest> manifest = read_manifest(options_.paths);
    if (manifest) {
        check_same_job(options_.paths, options_.identity);
        check_published_sizes(options_.paths, *manifest);
        sync_folder(options_.paths.manifest().parent_path());  // whoever made it may have died before
        complete_ = manifest;
        leave_as_complete();
    }
    return complete_.has_value();
}

void OutputRun::begin() {
    options_.me.run = fingerprint(options_.identity);
    establish_run_identity(options_.paths, options_.identity);
    epoch_ = Epoch::acquire(options_.paths, options_.me, options_.alive_within);
    establish_run_identity(options_.paths, options_.identity);  // a run that was empty may have become another one
    if (find_complete()) {                                      // whoever was here before has finished a moment ago
        return;
    }
    heartbeat_.emplace(heartbeat_file(epoch_->folder()), options_.heartbeat);
    journal_.emplace(journal_file(epoch_->folder()), epoch_->number(), options_.policy.durability);
    Adopted adopted = adopt(*epoch_, *journal_, plan_, options_.header, options_.verify);
    dropped_ = adopted.dropped;
    damaged_parts_ = adopted.damaged_parts;
    first_chunk_ = adopted.chunks;
    committer_.emplace(*epoch_, *journal_, plan_, options_.header, std::move(adopted), options_.policy);
    if (dropped_.empty() && damaged_parts_.empty() &&
        epoch_->standing() == Standing::current) {  // what could not be read may be readable again
        warn(remove_earlier_data(*epoch_, options_.alive_within));
    }
}

void OutputRun::publish() {
    expects(!complete_, "an output is published once");
    const std::vector<SealedPart> sealed = committer_.value().finish();
    options_.policy.check_sources();
    explained([&] {
        complete_ =
            sluice::publish(*epoch_, plan_, options_.identity, sealed, committer_->failed_items(), options_.provenance);
        leave_as_complete();
    });
    fault_point("finalize");
}

// Another attempt may begin at any moment, for which this one need only have been stopped for a minute. So nothing but
// this epoch's own folder is removed, and the folder of all epochs only if it is empty then, which the file system
// decides at once. What the run says of itself is put aside before, and given back where that folder stays. Who begins
// in between makes another job.json, now or when it publishes, and until then its epoch says itself of which run it is.
void OutputRun::abandon_if_empty() {
    if (complete_ || !committer_ || committer_->chunks_committed() != 0 || !is_alone() || remembers_a_death()) {
        return;
    }
    fault_point("abandon");
    const RunPaths& paths = options_.paths;
    const std::array shared{paths.identity(), paths.job_file()};
    const std::filesystem::path away = paths.run_folder() / (".gone-" + epoch_->owner().id);
    try_to([&] { static_cast<void>(rename_to(epoch_->folder(), away)); });
    for (const std::filesystem::path& file : shared) {
        try_to([&] { static_cast<void>(rename_to(file, away / file.filename())); });
    }
    const bool was_alone = remove_empty_folder(paths.epochs()) == 0;
    fault_point("abandoned");
    for (const std::filesystem::path& file : shared) {
        if (!was_alone) {
            try_to([&] { give_back(away / file.filename(), file); });
        }
    }
    try_to([&] { remove_folder(away); });
    static_cast<void>(remove_empty_folder(paths.run_folder()));  // unless something else is kept in it
}

/// False also where that cannot be looked at: the process ends for another reason, which is said.
bool OutputRun::is_alone() const noexcept {
    try {
        return epochs_of(options_.paths) == std::vector{epoch_->number()} && epoch_->standing() == Standing::current;
    } catch (const Error&) {
        return false;
    }
}

/// True also where that cannot be looked at.
bool OutputRun::remembers_a_death() const noexcept {
    try {
        return has_lost_ranks(epoch_->folder());
    } catch (const Error&) {
        return true;
    }
}

/// Another attempt that has finished removes what this one works on, whatever error that gives here.
template <class Action>
void OutputRun::explained(Action&& action) {
    try {
        action();
    } catch (const Error& error) {
        if (is_finished_by_another()) {
            return;
        }
        if (!epoch_) {
            throw;
        }
        epoch_->check_fence();
        throw while_running(error);
    }
}

/// An attempt that could not sync its own manifest does not know whether it stays: that is no success.
bool OutputRun::is_finished_by_another() {
    const std::optional<Manifest> manifest = read_manifest(options_.paths);
    return manifest && manifest->owner != options_.me.id && find_complete();
}

void OutputRun::leave_as_complete() {
    committer_.reset();
    journal_.reset();
    heartbeat_.reset();
    warn(clean_run(options_.paths, complete_->epoch, options_.me, options_.alive_within));
}

void OutputRun::warn(std::vector<ErrorText> warnings) {
    warnings_.insert(warnings_.end(), std::make_move_iterator(warnings.begin()),
                     std::make_move_iterator(warnings.end()));
}

}  // namespace sluice
