#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/buffer.hpp"
#include "core/event.hpp"
#include "core/function_ref.hpp"
#include "core/interface.hpp"

namespace sluice {

class Doorbell;

class Activity;

/// Work captured by a stream and launched as a whole: a CUDA graph. May outlive the stream.
class CapturedWork : public Interface {};

/// In-order queue of work on one device. Members are called by one thread; they enqueue work and return. A failed
/// operation poisons all later events of its stream, and of the streams that wait for one of those. The destructor
/// blocks until everything enqueued is done.
class Stream : public Interface {
public:
    /// Both spans stay alive, and `from` unchanged, until an event recorded later is ready. Sizes are equal.
    virtual void copy(std::span<std::byte> to, std::span<const std::byte> from) = 0;

    /// Later work of this stream starts after `event`, which was recorded by a stream of the same device.
    virtual void wait(const Event& event) = 0;

    /// Enqueues the work that `work` enqueues on this stream, which must be equal each time for the same `captured`. A
    /// device with graphs captures it the first time and launches the graph from then on. `work` enqueues models'
    /// operations, copies on the device and loops only.
    virtual void launch([[maybe_unused]] std::unique_ptr<CapturedWork>& captured, FunctionRef<void()> work) { work(); }

    /// Captures `work` without running it, so that the first launch() of `captured` need not. Does nothing on devices
    /// without graphs.
    virtual void capture([[maybe_unused]] std::unique_ptr<CapturedWork>& captured,
                         [[maybe_unused]] FunctionRef<void()> work) {}

    /// Enqueues a loop that runs the work enqueued by `body` while `*more` is not 0, at most `most_rounds` times.
    /// `body` is called once, before this returns, and may enqueue what launch()'s work may, nested loops included.
    /// `more` is device memory, aligned to 4 bytes, written by this stream's work, read before each round, and alive
    /// until a later event is ready. A failed round ends the loop. Reaching the bound is no error and leaves `*more` as
    /// it is.
    virtual void loop(const std::uint32_t* more, std::uint32_t most_rounds, FunctionRef<void()> body) = 0;

    /// Returns an event that is ready once all work enqueued so far is done. Its time is kept for the next
    /// StreamOptions::records records.
    [[nodiscard]] virtual Event record() = 0;

    /// Returns an event for timing only: it wakes nobody, so nobody may wait for it.
    [[nodiscard]] virtual Event mark() = 0;

    /// Time for which the stream's own thread was runnable but had no CPU; nullopt if it has no thread or the system
    /// does not count it.
    [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> run_delay() const { return std::nullopt; }
};

struct StreamOptions {
    std::size_t operations = 256;  ///< Queue capacity; the enqueuing thread blocks when it is full.
    std::size_t records = 64;      ///< Minimum number of records whose times are kept.
    /// Rung at each completed record(), if the device can (Device::rings); outlives the stream.
    Doorbell* bell = nullptr;
    Activity* activity = nullptr;  ///< Receives what the stream is doing, if the device can tell; outlives it.
};

/// Memory of a device, as reported by cudaMemGetInfo().
struct MemoryInfo {
    std::uint64_t free_bytes = 0;
    std::uint64_t all_bytes = 0;
};

class Device : public Interface {
public:
    /// "host", "NVIDIA H200 (17:00.0)".
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;

    /// Whether completed records ring StreamOptions::bell; otherwise a waiting host thread must poll.
    [[nodiscard]] virtual bool rings() const noexcept = 0;

    [[nodiscard]] virtual std::unique_ptr<Stream> make_stream(const StreamOptions& options) = 0;

    /// Allocates zero-filled memory, aligned to at least 64 bytes. Throws Error (out_of_memory) naming space and size.
    [[nodiscard]] virtual Buffer allocate(MemorySpace space, std::size_t bytes) = 0;

    /// The device's own memory; nullopt if it allocates from the process.
    [[nodiscard]] virtual std::optional<MemoryInfo> memory() const { return std::nullopt; }
};

}  // namespace sluice
