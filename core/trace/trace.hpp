#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/chunk.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/function_ref.hpp"
#include "core/model.hpp"
#include "core/trace/thread_usage.hpp"

namespace sluice {

/// Time spans of one chunk on one device. `Interval{}` means that the stage did not take place.
struct ChunkSpans {
    Chunk chunk{};
    Interval scatter{};  ///< The driver's copy of the items, or from the first of their messages to the last.
    Interval upload{};
    Interval compute{};
    Interval download{};
    Interval gather{};  ///< From handing the results over to their completed delivery, as the driver saw it.
};

/// A chunk's stages on a device, in their order.
inline constexpr std::array<std::pair<Stage, Interval ChunkSpans::*>, 5> chunk_stages{{
    {Stage::scatter, &ChunkSpans::scatter},
    {Stage::upload, &ChunkSpans::upload},
    {Stage::compute, &ChunkSpans::compute},
    {Stage::download, &ChunkSpans::download},
    {Stage::gather, &ChunkSpans::gather},
}};

/// Throws Error (out_of_memory): the system does not reserve a trace of so many entries, of `bytes` each.
[[noreturn]] void refuse_trace(std::size_t entries, std::size_t bytes);

/// Append-only log with a single writer thread; any thread may read concurrently. Lock-free and without allocation
/// after construction. The whole capacity is reserved at once, but only pages written to use memory.
template <class Entry>
class TraceLog {
public:
    /// `name` is of whom or what it logs, unique on its rank.
    TraceLog(std::string name, std::size_t capacity) : name_(std::move(name)), capacity_(capacity) {
        try {
            entries_.reserve(capacity);
        } catch (const std::exception&) {  // std::bad_alloc, or std::length_error
            refuse_trace(capacity, sizeof(Entry));
        }
    }
    /// Copies the entries so far.
    TraceLog(const TraceLog& other) : name_(other.name_), capacity_(other.capacity_) {
        const auto so_far = other.entries();
        entries_.assign(so_far.begin(), so_far.end());
        count_.store(entries_.size(), std::memory_order_relaxed);
        run_delay_.store(other.run_delay_.load());
    }
    TraceLog(TraceLog&& other) noexcept
        : name_(std::move(other.name_)),
          capacity_(other.capacity_),
          entries_(std::move(other.entries_)),
          count_(other.count_.exchange(0)),
          run_delay_(other.run_delay_.load()) {}
    TraceLog& operator=(const TraceLog&) = delete;
    TraceLog& operator=(TraceLog&&) = delete;
    ~TraceLog() = default;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Throws ContractViolation if called more than `capacity` times: a run knows the number of its chunks.
    void add(const Entry& entry) {
        expects(entries_.size() < capacity_, "a trace holds at most the entries it was made for");
        entries_.push_back(entry);
        count_.store(entries_.size(), std::memory_order_release);
    }

    /// Applies `change` to each entry; not concurrently with adding or reading.
    template <class Change>
    void rewrite(Change change) {
        for (Entry& entry : entries_) {
            change(entry);
        }
    }

    [[nodiscard]] std::span<const Entry> entries() const noexcept {
        return {entries_.data(), count_.load(std::memory_order_acquire)};
    }

    /// Time that the logged thread waited for a CPU; nullopt if not known (yet).
    void set_run_delay(std::optional<std::chrono::nanoseconds> delay) noexcept {
        run_delay_.store(delay ? delay->count() : unknown);
    }
    [[nodiscard]] std::optional<std::chrono::nanoseconds> run_delay() const noexcept {
        const std::int64_t delay = run_delay_.load();
        return delay == unknown ? std::nullopt : std::optional(std::chrono::nanoseconds(delay));
    }

private:
    std::string name_;
    std::size_t capacity_;
    std::vector<Entry> entries_;
    std::atomic<std::size_t> count_{0};  // of entries that are complete
    static constexpr std::int64_t unknown = -1;
    std::atomic<std::int64_t> run_delay_{unknown};
};

/// Trace of one device, written by its driver's thread. The thread whose delay it tells is the device's compute thread,
/// if it has one.
class DeviceTrace : public TraceLog<ChunkSpans> {
public:
    /// `item`: bytes of one item that the device gets and returns; 0: not known.
    DeviceTrace(std::string name, std::size_t capacity, IoShape item = {})
        : TraceLog(std::move(name), capacity), item_(item) {}

    /// Copy of the entries so far, without certification and counts. Safe from any thread.
    [[nodiscard]] DeviceTrace so_far() const { return {static_cast<const TraceLog&>(*this), item_}; }

    void set_certification(const Certification& certification) { certification_ = certification; }
    void set_counts(std::vector<ModelCount> counts) { counts_ = std::move(counts); }

    [[nodiscard]] std::span<const ChunkSpans> chunks() const noexcept { return entries(); }
    [[nodiscard]] IoShape item() const noexcept { return item_; }
    /// nullopt if the device's model computes every item once.
    [[nodiscard]] const std::optional<Certification>& certification() const noexcept { return certification_; }
    [[nodiscard]] std::span<const ModelCount> counts() const noexcept { return counts_; }

private:
    DeviceTrace(const TraceLog& log, IoShape item) : TraceLog(log), item_(item) {}

    IoShape item_;
    std::optional<Certification> certification_;
    std::vector<ModelCount> counts_;
};

/// One piece of work of a host thread. `busy` excludes time spent waiting for others.
struct ThreadSpan {
    Stage stage = Stage::read;
    Interval busy{};
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;
};

/// Trace of one host thread: a reader (read, parse), rank 0's comm thread (a trace each for scatter and gather, because
/// messages overlap), or the writer (write, commit). Its name is e.g. "reader 0".
class ThreadTrace : public TraceLog<ThreadSpan> {
public:
    using TraceLog::add;
    using TraceLog::TraceLog;

    /// Adds work whose last `late` belong to stage `last`: as two spans; an empty one is omitted.
    void add(const ThreadSpan& span, Stage last, std::chrono::nanoseconds late);

    [[nodiscard]] std::span<const ThreadSpan> spans() const noexcept { return entries(); }
};

/// What a host thread leaves: what it did, and, once it has ended, what that has cost.
struct ThreadLog {
    ThreadTrace trace;
    ThreadUsage usage{};
};

/// What a rank does outside of its chunks; sequential, except for phases started early.
enum class Phase : std::uint8_t {
    launch,    ///< MPI's start, the ranks' meeting and the alignment of their clocks.
    job,       ///< The job file and its checks, the app and its files.
    index,     ///< The input: opened, sampled, its records counted.
    weights,   ///< Read and checked, or drawn.
    tuning,    ///< The costs of chunk sizes measured, or looked up.
    output,    ///< Earlier attempts looked at and taken over, the output begun.
    place,     ///< The node's topology, the ranks' and threads' places.
    driver,    ///< The GPUs' driver started, contexts made.
    load,      ///< The weights given to all ranks and packed; a sample of the items.
    devices,   ///< Models and buffers made on the devices, until all of the rank's are ready.
    suspects,  ///< Chunks that earlier attempts died over, computed one by one.
    publish,   ///< The last commit, the output's names, the manifest.
    finish,    ///< The ranks' goodbye, and what they report.
};

inline constexpr std::size_t phase_count = 13;

[[nodiscard]] std::string_view to_string(Phase phase) noexcept;

struct PhaseSpan {
    Phase phase = Phase::launch;
    Interval time{};
};

/// Phases of one rank. Thread-safe.
class PhaseLog {
public:
    void add(Phase phase, const Interval& time);
    [[nodiscard]] std::vector<PhaseSpan> spans() const;

private:
    mutable std::mutex mutex_;
    std::vector<PhaseSpan> spans_;
};

/// Logs the time from its construction to its destruction or stop() as `phase`, also when an exception is thrown.
class PhaseTimer {
public:
    PhaseTimer(PhaseLog& log, Phase phase, Instant begin = Clock::now()) : log_(&log), phase_(phase), begin_(begin) {}
    ~PhaseTimer() { stop(); }
    PhaseTimer(const PhaseTimer&) = delete;
    PhaseTimer& operator=(const PhaseTimer&) = delete;
    void stop();

private:
    PhaseLog* log_;  // null: stopped
    Phase phase_;
    Instant begin_;
};

/// Totals of the calling thread for work nested inside other calls: reading files (Stage::read) or making data durable
/// (Stage::commit). Callers use differences.
struct InnerWork {
    std::chrono::nanoseconds time{0};
    std::uint64_t bytes = 0;
};
[[nodiscard]] InnerWork& file_reads_of_thread() noexcept;
[[nodiscard]] InnerWork& commits_of_thread() noexcept;

/// Adds its lifetime to an InnerWork.
class InnerTimer {
public:
    explicit InnerTimer(InnerWork& work) noexcept : work_(work) {}
    ~InnerTimer() { work_.time += Clock::now() - begin_; }
    InnerTimer(const InnerTimer&) = delete;
    InnerTimer& operator=(const InnerTimer&) = delete;

private:
    InnerWork& work_;
    Instant begin_ = Clock::now();
};

/// Points in time of one rank, on its own clock. nullopt if it did not happen, as on a rank without chunks.
struct Milestones {
    Instant start{};
    std::optional<Interval> driver{};  ///< From the start of the GPUs' driver until the last context exists.
    std::optional<Instant> buffers_ready{};
    std::optional<Instant> devices_ready{};
    std::optional<Instant> scatter_begin{};
    std::optional<Instant> scatter_end{};
    std::vector<std::optional<Instant>> first_compute{};  ///< By device.
    std::optional<Instant> compute_end{};
    std::optional<Instant> delivered{};
    Instant finish{};
};

/// Everything that one rank has traced. Read only after the threads that write it have ended.
struct RankTrace {
    int rank = 0;
    std::string host;
    Milestones milestones;
    std::vector<DeviceTrace> devices;
    std::vector<ThreadTrace> threads;
    std::vector<PhaseSpan> phases;
    bool copies_items = false;         ///< Its drivers copied their chunks' items; elsewhere they waited for messages.
    std::vector<ThreadUsage> usage{};  ///< Of threads that have ended.
    std::vector<std::string> gpus{};   ///< Models of the devices if these are GPUs.
    /// When the process did not run (SIGSTOP, scontrol suspend); in order, disjoint.
    std::vector<Interval> suspended{};
};

/// Puts `time(t)` in place of each time t of a rank's trace; what did not happen stays so. `time` never decreases.
void retime(RankTrace& trace, FunctionRef<Instant(Instant)> time);

/// `trace` as if each suspension had taken no time, so that later times are earlier by it.
[[nodiscard]] RankTrace without_suspensions(const RankTrace& trace);

}  // namespace sluice
