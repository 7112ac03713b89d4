#include "core/commit/committer.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/error.hpp"
#include "core/process/fault_point.hpp"
#include "core/trace/trace.hpp"

namespace sluice {

Committer::Committer(const AttemptFolder& attempt, Journal& journal, const PartPlan& plan, FileHeader header,
                     Adopted adopted, CommitPolicy policy)
    : attempt_(attempt),
      journal_(journal),
      plan_(plan),
      header_(std::move(header)),
      policy_(std::move(policy)),
      sealed_(std::move(adopted.sealed)),
      open_(std::move(adopted.open)),
      next_(adopted.chunks),
      committed_(adopted.chunks) {}

void Committer::append(const ChunkBytes& chunk) {
    expects(chunk.chunk == next_ && next_ < plan_.grid().chunks(), "Committer::append gets the chunks in order");
    expects(chunk.items == plan_.grid().at(next_).count, "Committer::append gets whole chunks");
    guarded([&] {
        assemble();  // what was adopted
        if (!open_) {
            open_part(plan_.part_of(next_));
        }
        if (is_broken("journal-first")) {
            std::array early{open_->entry_of(chunk, EntryType::commit)};
            journal_.append(early, policy_.durability);
        }
        waiting_.push_back(open_->append(chunk, EntryType::commit));
        for (const std::uint64_t item : chunk.failed) {
            waiting_.push_back(fail_entry(waiting_.back(), item));
        }
        waiting_bytes_ += chunk.bytes.size();
        if (waiting_.size() == 1 + chunk.failed.size()) {
            waiting_since_ = policy_.now();
        }
        fault_point("data.written");
        ++next_;
        if (next_ == plan_.end_chunk(open_->part())) {
            seal();
        } else if (is_due()) {
            sync_and_record();
        }
    });
}

void Committer::commit() {
    guarded([&] {
        if (!waiting_.empty()) {
            sync_and_record();
        }
    });
}

std::optional<std::chrono::nanoseconds> Committer::time_to_commit() const {
    if (waiting_.empty()) {
        return std::nullopt;
    }
    const std::chrono::nanoseconds waited = policy_.now() - waiting_since_;
    return std::max(policy_.interval - waited, std::chrono::nanoseconds(0));
}

std::vector<SealedPart> Committer::finish() {
    expects(next_ == plan_.grid().chunks(), "an output is finished after its last chunk");
    guarded([&] {
        if (sealed_.empty()) {  // no chunk at all
            open_part(0);
            seal();
        }
        assemble();
    });
    return sealed_;
}

bool Committer::is_due() const {
    return !waiting_.empty() && (waiting_bytes_ >= policy_.bytes || fault_value("due") != 0 ||
                                 policy_.now() - waiting_since_ >= policy_.interval);
}

void Committer::open_part(std::uint32_t part) {
    open_.emplace(part_file(attempt_.folder(), part), part, part_header(header_, plan_, attempt_.paths().layout, part));
    new_file_ = true;
}

void Committer::prepare_commit() {
    if (!std::exchange(has_committed_, true)) {
        policy_.check_sources();
    }
    attempt_.check_fence();
}

void Committer::sync_and_record() {
    const InnerTimer timer(commits_of_thread());
    fault_delay("commit");
    prepare_commit();
    if (policy_.durability == Durability::node) {
        open_->sync_data();
        if (std::exchange(new_file_, false)) {
            sync_folder(attempt_.folder());
        }
    }
    fault_point("data.synced");
    record(policy_.durability);
}

void Committer::seal() {
    const InnerTimer timer(commits_of_thread());
    prepare_commit();
    sealed_.push_back(open_->seal());
    const std::uint32_t part = open_->part();
    open_.reset();
    if (std::exchange(new_file_, false)) {
        sync_folder(attempt_.folder());
    }
    fault_point("data.synced");
    waiting_.push_back(seal_entry(sealed_.back(), plan_.first_chunk(part)));
    record(Durability::node);
    fault_point("seal");
    assemble();
}

/// Here and not in the constructor, so that the thread that copies has the writer's CPUs.
void Committer::assemble() {
    if (plan_.parts() == 1 || attempt_.paths().layout != OutputLayout::file) {
        return;
    }
    for (; assembled_ < sealed_.size(); ++assembled_) {
        if (!assembly_) {
            assembly_.emplace(attempt_.folder() / "whole.bin", [this] { return free_bytes(attempt_.folder()); });
        }
        const SealedPart& part = sealed_[assembled_];
        assembly_->add(part_file(attempt_.folder(), part.part), part.bytes);
    }
}

void Committer::record(Durability durability) {
    journal_.append(waiting_, durability);
    waiting_.clear();
    waiting_bytes_ = 0;
    committed_.store(next_, std::memory_order_release);
}

/// A failure ends this writer. Its cause may be that a newer attempt has cleaned up: then that is what is said.
template <class Action>
void Committer::guarded(Action&& action) {
    expects(!failed_, "Committer: nothing after a failure");
    failed_ = true;
    try {
        action();
    } catch (const Error& error) {
        assembly_.reset();  // its space may be what is missing
        if (error.code() != ExitCode::superseded) {
            attempt_.check_fence();
        }
        const Error failure = while_running(error);
        if (failure.code() != ExitCode::io_error) {
            throw;
        }
        ErrorText text = failure.text();
        text.what += fmt::format("; {} of {} chunks are committed", chunks_committed(), plan_.grid().chunks());
        throw Error(failure.code(), std::move(text));
    }
    failed_ = false;
}

}  // namespace sluice
