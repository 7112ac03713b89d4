#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stop_token>

#include "core/clock.hpp"
#include "core/input/item_source.hpp"

namespace sluice {

/// How far an index has come that one thread makes, for all who read it meanwhile or wait. Thread-safe.
class Growth {
public:
    /// Throws what the index has failed with.
    [[nodiscard]] Known known() const;

    /// Waits until `count` are known, or all are, or there will be no more, or a request to stop.
    [[nodiscard]] Known wait_for(std::uint64_t count, const std::stop_token& stop) const noexcept;

    /// Waits for the end. Throws what the index has failed with.
    void wait() const;

    [[nodiscard]] bool is_complete() const noexcept { return is_complete_.load(std::memory_order_acquire); }

    /// From the beginning until it was complete; nullopt: it is not.
    [[nodiscard]] std::optional<Interval> time() const;

    /// Asks the index to end early: nothing more becomes known, and nobody waits any more.
    void give_up() const noexcept;

    /// What `look` returns; the index does not change meanwhile.
    template <class Look>
    [[nodiscard]] auto look(Look&& look) const {
        if (is_complete()) {
            return look();
        }
        const std::shared_lock lock(mutex_);
        return look();
    }

    // For the index's thread:

    /// Lets `change` extend the index, and return how many are known.
    template <class Change>
    void grow(Change&& change) {
        {
            const std::lock_guard lock(mutex_);
            count_ = change();
        }
        changed_.notify_all();
    }

    /// Runs `make`, which makes the index; complete when it returns, unless it was asked to stop.
    template <class Make>
    void run(Make&& make) {
        const Instant begin = Clock::now();
        std::exception_ptr failure;
        try {
            make(stop_.get_token());
        } catch (...) {  // for those who ask
            failure = std::current_exception();
        }
        end({begin, Clock::now()}, failure);
    }

private:
    void end(const Interval& time, std::exception_ptr failure);

    mutable std::shared_mutex mutex_;  // of the index and all below until the index is complete
    mutable std::condition_variable_any changed_;
    std::uint64_t count_ = 0;
    Interval time_{};
    bool is_over_ = false;
    std::exception_ptr failure_;
    std::atomic<bool> is_complete_{false};
    mutable std::stop_source stop_;
};

/// A source, ItemSource or derived from it, that knows as many items as its growth.
template <class Source>
class GrowingSource : public Source {
public:
    [[nodiscard]] std::uint64_t count() const override {
        growth_.wait();
        return known().count;
    }
    [[nodiscard]] Known known() const override { return growth_.known(); }
    [[nodiscard]] Known wait_for(std::uint64_t items, const std::stop_token& stop) const override {
        return growth_.wait_for(items, stop);
    }
    void give_up_index() const noexcept override { growth_.give_up(); }
    [[nodiscard]] bool is_counted() const noexcept override { return growth_.is_complete(); }

protected:
    Growth growth_;
};

}  // namespace sluice
