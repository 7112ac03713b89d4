#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/device.hpp"
#include "core/sync/completion_counter.hpp"
#include "core/sync/doorbell.hpp"
#include "core/trace/activities.hpp"

namespace sluice {

/// The events of host streams; a type of its own, so that a foreign event is recognised.
class HostCompletions final : public CompletionCounter, public std::enable_shared_from_this<HostCompletions> {
public:
    using CompletionCounter::CompletionCounter;
};

/// The events that mark() gives: they can be looked at, but waiting for one is a broken assumption.
class HostMarks final : public EventSource {
public:
    explicit HostMarks(const HostCompletions& completions) noexcept : completions_(completions) {}

    [[nodiscard]] bool reached(std::uint64_t ticket) const override { return completions_.reached(ticket); }
    [[noreturn]] void wait_until_reached(std::uint64_t ticket) const override;
    [[nodiscard]] Instant reached_at(std::uint64_t ticket) const override { return completions_.reached_at(ticket); }

private:
    const HostCompletions& completions_;
};

/// A stream that is one worker thread: order, overlap, races and failures as on an accelerator, on any machine.
/// Enqueueing takes no lock and allocates nothing; when StreamOptions::operations are pending it waits for room.
class HostStream final : public Stream {
public:
    static constexpr std::size_t closure_bytes = 96;  ///< What a task may capture.

    explicit HostStream(const StreamOptions& options);
    ~HostStream() override;

    void copy(std::span<std::byte> to, std::span<const std::byte> from) override;
    void wait(const Event& event) override;
    /// With its body it is at most StreamOptions::operations operations.
    void loop(const std::uint32_t* more, std::uint32_t most_rounds, FunctionRef<void()> body) override;
    [[nodiscard]] Event record() override;
    [[nodiscard]] Event mark() override;
    [[nodiscard]] std::optional<std::chrono::nanoseconds> run_delay() const override;

    /// Enqueues a call of `task` on the worker thread. What it throws poisons the stream. `task` captures at most
    /// closure_bytes of plain values, pointers and spans; what they point to outlives the next recorded event.
    template <class Task>
    void run(Task task) {
        static_assert(sizeof(Task) <= closure_bytes && alignof(Task) <= alignof(std::max_align_t));
        static_assert(std::is_trivially_copyable_v<Task> && std::is_trivially_destructible_v<Task>);
        Operation& operation = reserve(Operation::Kind::call);
        ::new (static_cast<void*>(operation.closure)) Task(std::move(task));
        operation.call = [](std::byte* closure) { (*std::launder(reinterpret_cast<Task*>(closure)))(); };
        commit();
    }

private:
    struct Operation {
        enum class Kind : std::uint8_t { call, loop, record, mark, stop };
        Kind kind = Kind::call;
        void (*call)(std::byte* closure) = nullptr;
        alignas(std::max_align_t) std::byte closure[closure_bytes];
    };

    /// In the closure of a loop, whose body are the operations behind it.
    struct Loop {
        const std::uint32_t* more;
        std::uint32_t most_rounds;
        std::uint64_t body;  ///< Operations.
    };

    Operation& reserve(Operation::Kind kind);
    void commit();
    void publish(std::uint64_t tail);
    void work();
    [[nodiscard]] std::uint64_t perform(std::uint64_t at);
    void perform_loop(const Loop& loop, std::uint64_t body);
    void perform_call(Operation& operation);
    [[nodiscard]] Operation& operation_at(std::uint64_t at) noexcept { return ring_[at & (ring_.size() - 1)]; }

    std::vector<Operation> ring_;
    std::shared_ptr<HostCompletions> completions_;  // shared with streams that wait for it
    HostMarks marks_;

    alignas(64) std::atomic<std::uint64_t> tail_{0};  // written by the enqueuing thread: the worker goes no further
    std::uint64_t enqueued_ = 0;                      // the same with the loop that is being enqueued
    std::uint32_t open_loops_ = 0;
    std::uint64_t seen_head_ = 0;                    // its last view of head_
    std::uint64_t recorded_ = 0;                     // tickets it has given out
    std::shared_ptr<const CompletionCounter> gate_;  // what the worker has to wait for before it can do anything:
    std::uint64_t gate_ticket_ = 0;                  // until then there is no reason to wake it

    alignas(64) std::atomic<std::uint64_t> head_{0};  // written by the worker
    std::atomic<pid_t> worker_id_{0};                 // likewise

    std::shared_ptr<Doorbell> arrivals_ = std::make_shared<Doorbell>();  // shared with counters that it subscribed to
    Doorbell room_;
    Activity own_activity_;
    Activity& activity_;
    std::thread worker_;  // last: starts when everything else is there
};

/// The host stream behind `stream`. A host kernel on another device's stream is a broken assumption.
[[nodiscard]] HostStream& as_host(Stream& stream);

}  // namespace sluice
