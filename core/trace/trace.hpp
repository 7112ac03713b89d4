#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/chunk.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/model.hpp"
#include "core/trace/thread_usage.hpp"

namespace sluice {

/// One chunk on one device. An `Interval{}` says that the stage did not happen.
struct ChunkSpans {
    Chunk chunk{};
    Interval scatter{};  ///< From the request to the arrival of the items, as the device's driver saw it.
    Interval upload{};
    Interval compute{};
    Interval download{};
    Interval gather{};  ///< From the hand-over of the results to their completed delivery, as the driver saw it.
};

/// Append-only records of one thread, which any thread may read meanwhile: no lock, and no allocation after
/// construction. Memory of the capacity is reserved at once, but only pages that are written to are ever committed.
template <class Record>
class TraceLog {
public:
    explicit TraceLog(std::size_t capacity) : capacity_(capacity) { records_.reserve(capacity); }
    /// What is there so far.
    TraceLog(const TraceLog& other) : capacity_(other.capacity_) {
        const auto so_far = other.records();
        records_.assign(so_far.begin(), so_far.end());
        count_.store(records_.size(), std::memory_order_relaxed);
    }
    TraceLog(TraceLog&& other) noexcept
        : capacity_(other.capacity_), records_(std::move(other.records_)), count_(other.count_.exchange(0)) {}
    TraceLog& operator=(const TraceLog&) = delete;
    TraceLog& operator=(TraceLog&&) = delete;
    ~TraceLog() = default;

    /// At most `capacity` times: a run knows the number of its chunks, so one more is a mistake of the program.
    void add(const Record& record) {
        expects(records_.size() < capacity_, "a trace holds at most the records it was made for");
        records_.push_back(record);
        count_.store(records_.size(), std::memory_order_release);
    }

    /// Changes each record, once nobody adds or reads any more.
    template <class Change>
    void rewrite(Change change) {
        for (Record& record : records_) {
            change(record);
        }
    }

    [[nodiscard]] std::span<const Record> records() const noexcept {
        return {records_.data(), count_.load(std::memory_order_acquire)};
    }

private:
    std::size_t capacity_;
    std::vector<Record> records_;
    std::atomic<std::size_t> count_{0};  // of records that are complete
};

/// What one device did, filled by its driver's thread.
class DeviceTrace {
public:
    DeviceTrace(std::string device_name, std::size_t expected_chunks)
        : name_(std::move(device_name)), log_(expected_chunks) {}

    void add(const ChunkSpans& spans) { log_.add(spans); }
    template <class Change>
    void rewrite(Change change) {
        log_.rewrite(change);
    }

    /// A copy of what is there so far, but for the certification; from any thread.
    [[nodiscard]] DeviceTrace so_far() const { return DeviceTrace(name_, log_); }

    void set_certification(const Certification& certification) { certification_ = certification; }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] std::span<const ChunkSpans> chunks() const noexcept { return log_.records(); }
    /// nullopt: the device's model computes every item once.
    [[nodiscard]] const std::optional<Certification>& certification() const noexcept { return certification_; }

private:
    DeviceTrace(std::string name, const TraceLog<ChunkSpans>& log) : name_(std::move(name)), log_(log) {}

    std::string name_;
    TraceLog<ChunkSpans> log_;
    std::optional<Certification> certification_;
};

/// One piece of work of a host thread; `busy` leaves out the time that the thread waited for others.
struct ThreadSpan {
    Interval busy{};
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;
};

/// What one host thread did for one stage: a reader, the egress (scatter) or ingress (gather) of rank 0, the writer.
/// Several threads of a stage are several threads.
class ThreadTrace {
public:
    ThreadTrace(Stage stage, std::size_t expected_spans) : stage_(stage), log_(expected_spans) {}

    void add(const ThreadSpan& span) { log_.add(span); }
    template <class Change>
    void rewrite(Change change) {
        log_.rewrite(change);
    }

    [[nodiscard]] Stage stage() const noexcept { return stage_; }
    [[nodiscard]] std::span<const ThreadSpan> spans() const noexcept { return log_.records(); }

private:
    Stage stage_;
    TraceLog<ThreadSpan> log_;
};

/// Moments of one rank, on its own clock. nullopt: did not happen, as on a rank that got no chunk.
struct Milestones {
    Instant start{};
    std::optional<Interval> driver{};  ///< In which the GPUs' driver started, until the last one's context was there.
    std::optional<Instant> buffers_ready{};
    std::optional<Instant> devices_ready{};
    std::optional<Instant> scatter_begin{};
    std::optional<Instant> scatter_end{};
    std::vector<std::optional<Instant>> first_compute{};  ///< One a device.
    std::optional<Instant> compute_end{};
    std::optional<Instant> delivered{};
    Instant finish{};
};

/// All that one rank recorded. Read only after the threads that fill it have ended.
struct RankTrace {
    int rank = 0;
    std::string host;
    Milestones milestones;
    std::vector<DeviceTrace> devices;
    std::vector<ThreadTrace> threads;
    std::vector<ThreadUsage> usage{};  ///< Of those threads that have ended.
    std::vector<std::string> gpus{};   ///< Models of the devices, where those are GPUs.
};

}  // namespace sluice
