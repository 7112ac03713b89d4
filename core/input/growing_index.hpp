#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <shared_mutex>
#include <span>
#include <stop_token>
#include <thread>

#include "core/clock.hpp"
#include "core/input/input_file.hpp"
#include "core/input/item_source.hpp"
#include "core/input/record_index.hpp"

namespace sluice {

/// A text's RecordIndex that can be used while threads of its own still make it. Thread-safe.
class GrowingIndex {
public:
    /// Begins; arguments as of find_records(). `file` outlives it.
    GrowingIndex(const InputFile& file, const RecordRange& range, std::size_t columns, const IndexOptions& options);
    ~GrowingIndex();  ///< As give_up().
    GrowingIndex(const GrowingIndex&) = delete;
    GrowingIndex& operator=(const GrowingIndex&) = delete;

    /// Records before the last place so far. Throws Error as find_records().
    [[nodiscard]] Known known() const;

    [[nodiscard]] bool is_complete() const noexcept { return is_complete_.load(std::memory_order_acquire); }

    /// Waits until `records` are known, or all are, or there will be no more, or a request to stop.
    [[nodiscard]] Known wait_for(std::uint64_t records, const std::stop_token& stop) const noexcept;

    /// From the beginning until it was complete; nullopt: it is not.
    [[nodiscard]] std::optional<Interval> time() const;

    /// Ends the threads early: nothing more becomes known.
    void give_up() const noexcept;

    /// Waits for all. Throws Error as find_records().
    void wait() const;

    /// What `look` finds in the index of the records known so far.
    template <class Look>
    [[nodiscard]] auto look(Look&& look) const {
        if (is_complete()) {
            return look(index_);
        }
        const std::shared_lock lock(mutex_);
        return look(index_);
    }

private:
    void find();
    void add(std::span<const RecordIndex::Checkpoint> further);

    const InputFile& file_;
    RecordRange range_;
    std::size_t columns_;
    IndexOptions options_;
    mutable std::shared_mutex mutex_;  // of the next four until the index is complete
    mutable std::condition_variable_any grown_;
    RecordIndex index_;
    Interval time_{};
    bool is_over_ = false;
    std::exception_ptr failure_;
    std::atomic<bool> is_complete_{false};
    mutable std::stop_source stop_;
    std::jthread thread_;
};

}  // namespace sluice
