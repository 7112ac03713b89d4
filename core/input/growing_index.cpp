#include "core/input/growing_index.hpp"

#include <mutex>
#include <utility>

#include "core/trace/thread_usage.hpp"

namespace sluice {

GrowingIndex::GrowingIndex(const InputFile& file, const RecordRange& range, std::size_t columns,
                           const IndexOptions& options)
    : file_(file),
      range_(range),
      columns_(columns),
      options_(options),
      index_({.record = 0, .offset = range.begin, .line = range.line}),
      thread_([this] { find(); }) {}

GrowingIndex::~GrowingIndex() {
    give_up();
}

Known GrowingIndex::known() const {
    if (is_complete()) {
        return {.count = index_.count(), .is_all = true};
    }
    const std::shared_lock lock(mutex_);
    if (failure_) {
        std::rethrow_exception(failure_);
    }
    return {.count = index_.count(), .is_all = is_complete_.load(std::memory_order_relaxed)};
}

Known GrowingIndex::wait_for(std::uint64_t records, const std::stop_token& stop) const noexcept {
    std::shared_lock lock(mutex_);
    grown_.wait(lock, stop, [&] { return index_.count() >= records || is_over_ || stop_.stop_requested(); });
    return {.count = index_.count(), .is_all = is_complete_.load(std::memory_order_relaxed)};
}

void GrowingIndex::give_up() const noexcept {
    stop_.request_stop();
    const std::lock_guard lock(mutex_);  // whoever waits has looked before, or looks after
    grown_.notify_all();
}

void GrowingIndex::wait() const {
    std::shared_lock lock(mutex_);
    grown_.wait(lock, [&] { return is_over_; });
    if (failure_) {
        std::rethrow_exception(failure_);
    }
}

std::optional<Interval> GrowingIndex::time() const {
    return is_complete() ? std::optional(time_) : std::nullopt;
}

void GrowingIndex::find() {
    const Instant begin = Clock::now();
    name_this_thread("index");
    std::exception_ptr failure;
    try {
        find_records(
            file_, range_, columns_, options_, [this](auto further) { add(further); }, stop_.get_token());
    } catch (...) {  // for those who ask
        failure = std::current_exception();
    }
    {
        const std::lock_guard lock(mutex_);
        time_ = {begin, Clock::now()};
        is_over_ = true;
        failure_ = failure;
        is_complete_.store(!failure && !stop_.stop_requested(), std::memory_order_release);
    }
    grown_.notify_all();
}

void GrowingIndex::add(std::span<const RecordIndex::Checkpoint> further) {
    {
        const std::lock_guard lock(mutex_);
        index_.extend(further);
    }
    grown_.notify_all();
}

}  // namespace sluice
