#include "core/sync/completion_counter.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/error.hpp"
#include "core/sync/spin.hpp"

namespace sluice {

CompletionCounter::CompletionCounter(std::size_t kept, Doorbell* bell) : times_(std::bit_ceil(kept)), bell_(bell) {}

void CompletionCounter::complete() noexcept {
    complete_quietly();
    announce();
}

void CompletionCounter::complete_quietly() noexcept {
    const std::uint64_t ticket = completed_.load(std::memory_order_relaxed) + 1;
    times_[ticket & (times_.size() - 1)].store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    completed_.store(ticket, std::memory_order_seq_cst);
}

bool CompletionCounter::subscribe(const std::shared_ptr<Doorbell>& bell) {
    const std::size_t count = subscriber_count_.load(std::memory_order_relaxed);
    if (std::find(subscribers_.begin(), subscribers_.begin() + static_cast<std::ptrdiff_t>(count), bell) !=
        subscribers_.begin() + static_cast<std::ptrdiff_t>(count)) {
        return true;
    }
    if (count == most_subscribers) {
        return false;
    }
    subscribers_[count] = bell;
    subscriber_count_.store(count + 1, std::memory_order_seq_cst);
    return true;
}

void CompletionCounter::poison(std::exception_ptr failure) noexcept {
    if (!poisoned()) {
        failure_ = std::move(failure);
        failed_from_.store(completed_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
}

void CompletionCounter::abandon(std::exception_ptr failure) noexcept {
    poison(std::move(failure));
    completed_.store(all_there_will_be, std::memory_order_seq_cst);
    announce();
}

bool CompletionCounter::reached(std::uint64_t ticket) const {
    if (completed_.load(std::memory_order_acquire) < ticket) {
        return false;
    }
    if (failed_from_.load(std::memory_order_relaxed) <= ticket) {
        std::rethrow_exception(failure_);
    }
    return true;
}

void CompletionCounter::wait_until_reached(std::uint64_t ticket) const {
    if (spin_until([&] { return reached(ticket); })) {
        return;
    }
    for (;;) {
        const std::uint32_t seen = progress_.listen();
        if (reached(ticket)) {
            return;
        }
        progress_.wait(seen);
    }
}

Instant CompletionCounter::reached_at(std::uint64_t ticket) const {
    const std::uint64_t newest = completed_.load(std::memory_order_acquire);
    if (newest == all_there_will_be) {
        std::rethrow_exception(failure_);
    }
    expects(ticket <= newest && newest - ticket < times_.size(), "the event's time is not kept any more");
    return Instant(Instant::duration(times_[ticket & (times_.size() - 1)].load(std::memory_order_relaxed)));
}

void CompletionCounter::announce() noexcept {
    progress_.ring();
    const std::size_t count = subscriber_count_.load(std::memory_order_seq_cst);
    for (std::size_t i = 0; i < count; ++i) {
        subscribers_[i]->ring();
    }
    if (bell_ != nullptr) {
        bell_->ring();
    }
}

}  // namespace sluice
