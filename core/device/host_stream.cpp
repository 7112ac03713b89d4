#include "core/device/host_stream.hpp"

#include <unistd.h>

#include <bit>
#include <cstring>
#include <exception>
#include <typeinfo>

#include "core/error.hpp"
#include "core/sync/spin.hpp"
#include "core/trace/thread_usage.hpp"

namespace sluice {

void HostMarks::wait_until_reached(std::uint64_t) const {
    throw ContractViolation("a mark only tells the time: wait for a recorded event");
}

HostStream::HostStream(const StreamOptions& options)
    : ring_(std::bit_ceil(options.operations)),
      completions_(std::make_shared<HostCompletions>(options.records, options.bell)),
      marks_(*completions_),
      activity_(options.activity == nullptr ? own_activity_ : *options.activity) {
    worker_ = std::thread([this] { work(); });
}

HostStream::~HostStream() {
    reserve(Operation::Kind::stop);
    commit();
    worker_.join();
}

void HostStream::copy(std::span<std::byte> to, std::span<const std::byte> from) {
    expects(to.size() == from.size(), "HostStream::copy: sizes differ");
    if (!to.empty()) {
        run([to, from] { std::memcpy(to.data(), from.data(), to.size()); });
    }
}

void HostStream::wait(const Event& event) {
    if (event.source() == nullptr) {
        return;
    }
    expects(open_loops_ == 0, "HostStream: an event in a loop");
    expects(typeid(*event.source()) == typeid(HostCompletions),
            "HostStream::wait: not an event that a host stream recorded");
    if (event.source() == completions_.get()) {
        return;
    }
    // The stream that is waited for belongs to this device, so it is not constant: it may keep our bell.
    auto& counter = const_cast<HostCompletions&>(static_cast<const HostCompletions&>(*event.source()));
    if (counter.subscribe(arrivals_)) {
        gate_ = counter.shared_from_this();
        gate_ticket_ = event.ticket();
    }
    run([event] { event.wait(); });
}

void HostStream::loop(const std::uint32_t* more, std::uint32_t most_rounds, FunctionRef<void()> body) {
    const std::uint64_t at = enqueued_;
    Operation& operation = reserve(Operation::Kind::loop);
    ++open_loops_;
    commit();
    try {
        body();
    } catch (...) {  // thrown on: the worker has seen nothing of the outermost loop
        enqueued_ = at;
        --open_loops_;
        throw;
    }
    --open_loops_;
    ::new (static_cast<void*>(operation.closure)) Loop{more, most_rounds, enqueued_ - at - 1};
    if (open_loops_ == 0) {
        publish(enqueued_);
    }
}

Event HostStream::record() {
    reserve(Operation::Kind::record);
    commit();
    return {*completions_, ++recorded_};
}

Event HostStream::mark() {
    reserve(Operation::Kind::mark);
    commit();
    return {marks_, ++recorded_};
}

HostStream::Operation& HostStream::reserve(Operation::Kind kind) {
    expects(open_loops_ == 0 || kind == Operation::Kind::call || kind == Operation::Kind::loop,
            "HostStream: an event in a loop");
    expects(enqueued_ - tail_.load(std::memory_order_relaxed) < ring_.size(),
            "HostStream: a loop of more operations than the stream was made for");
    while (enqueued_ - seen_head_ == ring_.size()) {
        const std::uint32_t seen = room_.listen();
        seen_head_ = head_.load(std::memory_order_acquire);
        if (enqueued_ - seen_head_ == ring_.size()) {
            room_.wait(seen);
        }
    }
    Operation& operation = operation_at(enqueued_);
    operation.kind = kind;
    return operation;
}

void HostStream::commit() {
    ++enqueued_;
    if (open_loops_ == 0) {  // the worker gets a loop as a whole
        publish(enqueued_);
    }
}

void HostStream::publish(std::uint64_t tail) {
    if (gate_ != nullptr) {
        // In one total order with the gate's opening: either we see here that it has opened, or the worker, whom it
        // wakes, sees the new operation.
        tail_.store(tail, std::memory_order_seq_cst);
        if (!gate_->passed(gate_ticket_)) {
            return;
        }
        gate_.reset();
    } else {
        tail_.store(tail, std::memory_order_release);
    }
    arrivals_->ring();
}

std::optional<std::chrono::nanoseconds> HostStream::run_delay() const {
    return read_run_delay(worker_id_.load());
}

void HostStream::work() {
    name_this_thread("stream");
    worker_id_.store(::gettid());
    std::uint64_t head = 0;
    activity_.work(Stage::compute, Activity::no_chunk);  // the first operations may be there already
    for (;;) {
        const std::uint32_t seen = arrivals_->listen();
        if (tail_.load(std::memory_order_seq_cst) == head) {
            activity_.wait(Stage::scatter);
            if (!spin_until([&] { return tail_.load(std::memory_order_acquire) != head; })) {
                arrivals_->wait(seen);
            }
            activity_.work(Stage::compute, Activity::no_chunk);
            continue;
        }
        if (operation_at(head).kind == Operation::Kind::stop) {
            activity_.end();
            return;
        }
        head = perform(head);
        head_.store(head, std::memory_order_release);
        room_.ring();
    }
}

/// Performs the operation at `at`, with its body if it is a loop; returns where the next one is.
std::uint64_t HostStream::perform(std::uint64_t at) {
    Operation& operation = operation_at(at);
    switch (operation.kind) {
        case Operation::Kind::record:
            completions_->complete();
            break;
        case Operation::Kind::mark:
            completions_->complete_quietly();
            break;
        case Operation::Kind::call:
            perform_call(operation);
            break;
        case Operation::Kind::loop: {
            const Loop& loop = *std::launder(reinterpret_cast<const Loop*>(operation.closure));
            perform_loop(loop, at + 1);
            return at + 1 + loop.body;
        }
        case Operation::Kind::stop:
            break;
    }
    activity_.move();
    return at + 1;
}

void HostStream::perform_call(Operation& operation) {
    if (!completions_->poisoned()) {
        try {
            operation.call(operation.closure);
        } catch (...) {  // stored, not swallowed: every later event of this stream rethrows it
            completions_->poison(std::current_exception());
        }
    }
}

void HostStream::perform_loop(const Loop& loop, std::uint64_t body) {
    for (std::uint32_t round = 0; round < loop.most_rounds && !completions_->poisoned() && *loop.more != 0; ++round) {
        for (std::uint64_t at = body; at != body + loop.body;) {
            at = perform(at);
        }
    }
}

HostStream& as_host(Stream& stream) {
    expects(typeid(stream) == typeid(HostStream), "a host kernel was given another device's stream");
    return static_cast<HostStream&>(stream);
}

}  // namespace sluice
