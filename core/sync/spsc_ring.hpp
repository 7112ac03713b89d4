#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

/// Bounded queue between one producer thread and one consumer thread. Lock-free; no allocation after construction.
template <class T>
class SpscRing {
public:
    /// Holds at least `capacity` values.
    explicit SpscRing(std::size_t capacity) : slots_(std::bit_ceil(capacity < 1 ? std::size_t{1} : capacity)) {}

    /// Returns false if full. Producer thread only.
    [[nodiscard]] bool try_push(const T& value) {
        const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
        if (tail - seen_head_ == slots_.size()) {
            seen_head_ = head_.load(std::memory_order_acquire);
            if (tail - seen_head_ == slots_.size()) {
                return false;
            }
        }
        slots_[tail & (slots_.size() - 1)] = value;
        tail_.store(tail + 1, std::memory_order_release);
        return true;
    }

    /// Returns false if empty. Consumer thread only.
    [[nodiscard]] bool try_pop(T& value) {
        const std::uint64_t head = head_.load(std::memory_order_relaxed);
        if (head == seen_tail_) {
            seen_tail_ = tail_.load(std::memory_order_acquire);
            if (head == seen_tail_) {
                return false;
            }
        }
        value = slots_[head & (slots_.size() - 1)];
        head_.store(head + 1, std::memory_order_release);
        return true;
    }

private:
    std::vector<T> slots_;
    alignas(64) std::atomic<std::uint64_t> tail_{0};
    std::uint64_t seen_head_ = 0;  // the producer's last view of head_
    alignas(64) std::atomic<std::uint64_t> head_{0};
    std::uint64_t seen_tail_ = 0;  // the consumer's last view of tail_
};

}  // namespace sluice
