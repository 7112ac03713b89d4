#include "core/commit/committed_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/commit/attempt_history.hpp"
#include "core/commit/clean.hpp"
#include "core/commit/file.hpp"
#include "core/commit/publish.hpp"
#include "core/error.hpp"
#include "core/input/checked.hpp"
#include "core/process/fault_point.hpp"
#include "core/stage_error.hpp"
#include "core/text/wording.hpp"

namespace sluice {
namespace {

constexpr std::size_t most_named = 3;

const char* name_of(FieldType type) {
    return type == FieldType::int32 ? "int32" : type == FieldType::float32 ? "float32" : "text";
}

std::string text_of(const std::vector<OutputField>& fields) {
    std::string text;
    for (const OutputField& field : fields) {
        text += fmt::format("{}{} {}[{}]", text.empty() ? "" : ", ", name_of(field.type), field.name, field.count);
    }
    return text;
}

RunIdentity identity_of(const CommittedOutputOptions& options, const RowEncoder& rows, const RunPaths& paths) {
    const ChunkGrid grid(options.items, options.chunk_items);
    const std::uint64_t chunk_bytes = options.chunk_items * rows.estimate_row_bytes(options.items);
    RunIdentity identity{
        .items = options.items,
        .chunk_items = options.chunk_items,
        .chunks_per_part = options.chunks_per_part.value_or(choose_chunks_per_part(grid.chunks(), chunk_bytes)),
        .layout = paths.layout,
        .settings = options.settings};
    for (const PublishedInput& input : options.notes.inputs) {
        identity.input_files.emplace_back(input.path);
    }
    identity.settings.emplace_back("output.format", extension_of(options.format));
    identity.settings.emplace_back("output.fields", text_of(options.codec->output_fields()));
    return identity;
}

/// 0, but of .npy whose number of items is known.
std::uint64_t size_to_come(const CommittedOutputOptions& options, const RowEncoder& rows) {
    if (options.format != OutputFormat::npy || options.count) {
        return 0;
    }
    return checked_multiply(options.items, rows.estimate_row_bytes(options.items))
        .value_or(std::numeric_limits<std::uint64_t>::max());
}

RunFolders make_folders(const CommittedOutputOptions& options, const RowEncoder& rows, const RunPaths& paths,
                        const PartPlan& plan) {
    if (!find_run_folder(paths)) {
        check_space(paths, plan, size_to_come(options, rows));  // before there is a folder that would stay
    }
    return make_run_folder(paths);
}

[[noreturn]] void refuse_nonfinite(const Chunk& chunk, std::uint64_t values, std::span<const std::uint64_t> items) {
    throw Error(ExitCode::numeric,
                {.id = "E-NUM-081",
                 .where = fmt::format("chunk {}", chunk.id),
                 .what = fmt::format("{} not finite in items {}", values, first_of(items, most_named)),
                 .hint = "check those items and run.precision; output.nonfinite = \"flag\" writes them anyway"});
}

/// Test builds only: other results than these, the same for the same salt.
std::vector<std::byte> salted(std::span<const std::byte> outputs, std::size_t result_bytes, int salt) {
    std::vector<std::byte> salted(outputs.begin(), outputs.end());
    for (std::size_t at = 0; at < salted.size(); at += result_bytes) {
        salted[at] ^= static_cast<std::byte>(salt);  // the lowest byte of the first field, little-endian
    }
    return salted;
}

}  // namespace

RunIdentity identity_of(const CommittedOutputOptions& options) {
    return identity_of(options, RowEncoder(options.format, *options.codec),
                       run_paths(options.path, extension_of(options.format)));
}

OutputState look_at_output(const CommittedOutputOptions& options) {
    const RowEncoder rows(options.format, *options.codec);
    const RunPaths paths = run_paths(options.path, extension_of(options.format));
    const RunIdentity identity = identity_of(options, rows, paths);
    const std::optional<RunFolders> folders = find_run_folder(paths);
    const auto check_space_for_all = [&] { check_space(paths, identity.plan(), size_to_come(options, rows)); };
    if (!folders) {
        check_space_for_all();
        return OutputState::absent;
    }
    if (const std::optional<Manifest> manifest = read_manifest(paths)) {
        check_same_job(paths, identity);
        check_published_sizes(paths, *manifest);
        return OutputState::complete;
    }
    refuse_foreign_file_beside(paths);
    check_space_for_all();
    const std::optional<RunIdentity> begun = read_run_identity(paths);
    if (!begun) {
        return OutputState::absent;
    }
    check_same_run(paths, *begun, identity);
    refuse_taken_names(paths, identity.plan(), fingerprint(identity));
    return OutputState::unfinished;
}

CommittedOutput::CommittedOutput(CommittedOutputOptions options)
    : options_(std::move(options)),
      rows_(options_.format, *options_.codec),
      paths_(run_paths(options_.path, extension_of(options_.format))),
      identity_(identity_of(options_, rows_, paths_)),
      plan_(identity_.plan()),
      folders_(make_folders(options_, rows_, paths_, plan_)) {
    try {
        find_or_begin();
    } catch (...) {
        give_up(std::current_exception());
        throw;
    }
}

void CommittedOutput::find_or_begin() {
    if (options_.count && (read_manifest(paths_) || read_run_identity(paths_))) {
        find_count_now();
    }
    if (!find_complete()) {
        refuse_foreign_file_beside(paths_);
        check_space(paths_, plan_, size_to_come(options_, rows_));
        explained([this] { options_.count ? begin_uncounted() : begin(); });
    }
}

/// Returns false if the items cannot be counted yet.
bool CommittedOutput::find_count(UntilCounted until) {
    std::optional<CountedItems> counted = options_.count(until);
    if (counted) {
        options_.count = {};
        options_.items = counted->items;
        options_.notes.inputs = std::move(counted->inputs);
        RunIdentity identity = identity_of(options_, rows_, paths_);
        const std::lock_guard lock(mutex_);
        identity_ = std::move(identity);
        plan_ = identity_.plan();
    }
    return counted.has_value();
}

void CommittedOutput::find_count_now() {
    expects(find_count(UntilCounted::wait), "a run does not end before it has begun");
}

bool CommittedOutput::find_complete() {
    const std::optional<Manifest> manifest = read_manifest(paths_);
    if (manifest) {
        check_same_job(paths_, identity_);
        check_published_sizes(paths_, *manifest);
        sync_folder(paths_.manifest().parent_path());  // whoever made it may have died before
        leave_as_complete(*manifest);
    }
    return complete_.has_value();
}

void CommittedOutput::begin() {
    options_.me.run = fingerprint(identity_);
    if (attempts_of(paths_).empty() ||
        read_run_identity(paths_)) {  // else one that may run has still to count its items
        establish_run_identity(paths_, identity_);
        refuse_taken_names(paths_, plan_, options_.me.run);
    }
    acquire();
    establish_run_identity(paths_, identity_);  // a run that was empty may have become another one
    if (!find_complete()) {                     // whoever was here before has finished a moment ago
        adopt_earlier();
    }
}

void CommittedOutput::begin_uncounted() {
    acquire();
    if (!read_manifest(paths_) && !read_run_identity(paths_)) {
        options_.on_commit(0, plan_.grid().chunks());
    } else {  // another has begun at the same time, and has ended
        find_count_now();
        establish_run_identity(paths_, identity_);
        if (!find_complete()) {
            attempt_->name_run(fingerprint(identity_));
            adopt_earlier();
        }
    }
}

void CommittedOutput::acquire() {
    attempt_ = AttemptFolder::acquire(paths_, options_.me, options_.alive_within, options_.on_wait);
    sync_folder(paths_.attempts());
    heartbeat_ = send_heartbeats(heartbeat_file(attempt_->folder()), options_.heartbeat);
}

void CommittedOutput::adopt_earlier() {
    journal_.emplace(journal_file(attempt_->folder()), attempt_->number());
    const FileHeader header = [this](std::uint64_t items) { return rows_.header(items); };
    Adopted adopted = adopt(*attempt_, *journal_, plan_, header, options_.verify);
    dropped_ = adopted.dropped;
    damaged_parts_ = adopted.damaged_parts;
    first_chunk_ = adopted.chunks;
    {
        const std::lock_guard lock(mutex_);
        failed_items_ = std::move(adopted.failed_items);
        committer_.emplace(*attempt_, *journal_, plan_, header, std::move(adopted), options_.policy);
    }
    told_ = first_chunk_;
    options_.on_commit(told_, plan_.grid().chunks());
    if (dropped_.empty() && damaged_parts_.empty() &&
        attempt_->standing() == Standing::current) {  // what could not be read may be readable again
        warn(remove_earlier_data(*attempt_, options_.alive_within));
    }
}

/// Begins to write once the number of items is known. Returns whether it has. Another thread may abandon the output.
bool CommittedOutput::settle(UntilCounted until) {
    if (!committer_ && (!options_.count || find_count(until))) {
        const std::lock_guard lock(settling_);
        if (is_abandoned_) {
            return false;
        }
        try {
            check_space(paths_, plan_, size_to_come(options_, rows_));
            attempt_->check_fence();
            refuse_taken_names(paths_, plan_, fingerprint(identity_));
            establish_run_identity(paths_, identity_);
            fault_point("counted");
            attempt_->name_run(fingerprint(identity_));
            adopt_earlier();
        } catch (const Error& error) {
            throw while_running(error);
        }
        expects(first_chunk_ == 0, "an attempt that counted nothing has committed nothing");
    }
    return committer_.has_value();
}

std::vector<std::uint64_t> CommittedOutput::failed_items() const {
    const std::lock_guard lock(mutex_);
    return complete_ ? complete_->failed_items : failed_items_;
}

std::uint64_t CommittedOutput::chunks_committed() const {
    const std::lock_guard lock(mutex_);
    return committer_ ? committer_->chunks_committed() : 0;
}

RunIdentity CommittedOutput::identity() const {
    const std::lock_guard lock(mutex_);
    return identity_;
}

/// What is held is written a little at a time, so that nobody waits for all of it.
void CommittedOutput::append(std::uint32_t count, std::span<const std::byte> outputs) {
    constexpr std::size_t faster_than_it_grows = 4;
    if (held_.empty() && settle(UntilCounted::ask)) {
        write(count, outputs);
        return;
    }
    held_.push_back({.items = count, .outputs = {outputs.begin(), outputs.end()}});
    held_bytes_ += outputs.size();
    if (settle(held_bytes_ > options_.most_held ? UntilCounted::wait : UntilCounted::ask)) {
        write_held(faster_than_it_grows);
    }
}

void CommittedOutput::write_held(std::size_t most) {
    for (std::size_t i = 0; i < most && !held_.empty(); ++i) {
        const HeldChunk chunk = std::move(held_.front());
        held_.pop_front();
        held_bytes_ -= chunk.outputs.size();
        write(chunk.items, chunk.outputs);
    }
}

void CommittedOutput::write(std::uint32_t count, std::span<const std::byte> outputs) {
    const Chunk chunk = plan_.grid().at(committer_->next_chunk());
    expects(count == chunk.count, "CommittedOutput::append gets whole chunks in order");
    if (const int salt = fault_value("result"); salt != 0) {
        salted_ = salted(outputs, outputs.size() / count, salt);
        outputs = salted_;
    }
    const RowEncoder::Rows rows = rows_.encode(chunk.first, count, outputs);
    const std::vector<std::uint64_t> failed{std::ranges::lower_bound(left_out_, chunk.first),
                                            std::ranges::lower_bound(left_out_, chunk.first + count)};
    const std::uint64_t nonfinite = rows.nonfinite == 0 ? 0 : count_nonfinite(chunk, failed, rows.nonfinite, outputs);
    expects(nonfinite <= std::numeric_limits<std::uint32_t>::max(), "a chunk has fewer than 2^32 values");
    committer_->append({.chunk = chunk.id,
                        .items = count,
                        .nonfinite = static_cast<std::uint32_t>(nonfinite),
                        .bytes = rows.bytes,
                        .failed = failed});
    {
        const std::lock_guard lock(mutex_);
        failed_items_.insert(failed_items_.end(), failed.begin(), failed.end());
    }
    notify_commits();
}

/// Those of `all` that are no failed item's. Throws Error where there may be none.
std::uint64_t CommittedOutput::count_nonfinite(const Chunk& chunk, std::span<const std::uint64_t> failed,
                                               std::uint64_t all, std::span<const std::byte> outputs) {
    const std::size_t result_bytes = outputs.size() / chunk.count;
    const auto values_of = [&](std::uint64_t item) {
        return options_.codec->nonfinite(outputs.subspan((item - chunk.first) * result_bytes, result_bytes));
    };
    for (const std::uint64_t item : failed) {
        all -= values_of(item);
    }
    if (all == 0 || options_.nonfinite != NonfinitePolicy::error) {
        return all;
    }
    std::vector<std::uint64_t> items;
    for (std::uint64_t item = chunk.first; item < chunk.first + chunk.count && items.size() <= most_named; ++item) {
        if (!std::ranges::binary_search(failed, item) && values_of(item) != 0) {
            items.push_back(item);
        }
    }
    committer_->commit();
    notify_commits();
    refuse_nonfinite(chunk, all, items);
}

void CommittedOutput::commit() {
    if (settle(UntilCounted::ask)) {
        write_held(held_.size());
        committer_->commit();
        notify_commits();
    }
}

void CommittedOutput::notify_commits() {
    if (const std::uint64_t committed = chunks_committed(); committed != told_) {
        told_ = committed;
        options_.on_commit(committed, plan_.grid().chunks());
    }
}

void CommittedOutput::publish() {
    expects(!complete_, "an output is published once");
    expects(settle(UntilCounted::ask), "an output is published when all items are known");
    write_held(held_.size());
    const std::vector<SealedPart> sealed = committer_.value().finish();
    options_.policy.check_sources();
    explained([&] {
        leave_as_complete(sluice::publish(*attempt_, plan_, identity_, sealed, committer_->assembly(), failed_items(),
                                          options_.notes));
    });
    fault_point("finalize");
}

void CommittedOutput::abandon_if_empty() {
    const std::lock_guard lock(settling_);
    is_abandoned_ = true;
    if (!complete_ && attempt_ && chunks_committed() == 0) {
        remove_if_alone(*attempt_);
    }
}

void CommittedOutput::give_up(const std::exception_ptr& why) {
    const Failure failure = describe(why, {});
    if (!attempt_) {
        const bool is_of_files = failure.code == ExitCode::io_error || failure.code == ExitCode::cannot_create ||
                                 failure.code == ExitCode::out_of_memory;
        if (is_of_files) {  // else what is there is the reason
            remove_if_unattempted(paths_);
        }
        return;
    }
    try {
        note_end(attempt_->folder(), failure.code, failure.text);
    } catch (const Error&) {  // of files, as `why` may be
    }
    if (!counts_as_death(failure.code)) {
        abandon_if_empty();
    }
}

/// Another attempt that has finished removes what this one works on, whatever error that gives here.
template <class Action>
void CommittedOutput::explained(Action&& action) {
    try {
        action();
    } catch (const Error& error) {
        if (is_finished_by_another()) {
            return;
        }
        if (!attempt_) {
            throw;
        }
        attempt_->check_fence();
        throw while_running(error);
    }
}

/// An attempt that could not sync its own manifest does not know whether it stays: that is no success.
bool CommittedOutput::is_finished_by_another() {
    const std::optional<Manifest> manifest = read_manifest(paths_);
    return manifest && manifest->owner != options_.me.id && find_complete();
}

void CommittedOutput::leave_as_complete(Manifest manifest) {
    {
        const std::lock_guard lock(mutex_);
        complete_ = std::move(manifest);
        committer_.reset();
    }
    journal_.reset();
    heartbeat_ = {};
    warn(clean_run(paths_, complete_->attempt, options_.me, options_.alive_within));
}

void CommittedOutput::warn(std::vector<ErrorText> warnings) {
    warnings_.insert(warnings_.end(), std::make_move_iterator(warnings.begin()),
                     std::make_move_iterator(warnings.end()));
}

}  // namespace sluice
