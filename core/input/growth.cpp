#include "core/input/growth.hpp"

#include <utility>

namespace sluice {

Known Growth::known() const {
    if (is_complete()) {
        return {.count = count_, .is_all = true};
    }
    const std::shared_lock lock(mutex_);
    if (failure_) {
        std::rethrow_exception(failure_);
    }
    return {.count = count_, .is_all = is_complete()};
}

Known Growth::wait_for(std::uint64_t count, const std::stop_token& stop) const noexcept {
    std::shared_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return count_ >= count || is_over_ || stop_.stop_requested(); });
    return {.count = count_, .is_all = is_complete()};
}

void Growth::wait() const {
    std::shared_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_over_; });
    if (failure_) {
        std::rethrow_exception(failure_);
    }
}

std::optional<Interval> Growth::time() const {
    return is_complete() ? std::optional(time_) : std::nullopt;
}

void Growth::give_up() const noexcept {
    stop_.request_stop();
    const std::lock_guard lock(mutex_);  // whoever waits has looked before, or looks after
    changed_.notify_all();
}

void Growth::end(const Interval& time, std::exception_ptr failure) {
    {
        const std::lock_guard lock(mutex_);
        time_ = time;
        is_over_ = true;
        is_complete_.store(!failure && !stop_.stop_requested(), std::memory_order_release);
        failure_ = std::move(failure);
    }
    changed_.notify_all();
}

}  // namespace sluice
