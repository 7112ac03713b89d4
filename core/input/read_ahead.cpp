#include "core/input/read_ahead.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/error.hpp"
#include "core/process/fault_point.hpp"
#include "core/stage_error.hpp"
#include "core/trace/thread_usage.hpp"

namespace sluice {

/// What one reader did for one chunk, of which it may read several parts in a row: in its trace all bytes are read
/// first, and then parsed.
class ReadAhead::ChunkSpan {
public:
    explicit ChunkSpan(ThreadTrace& trace) : trace_(trace) {}

    void add(std::uint64_t id, const ThreadSpan& part, const InnerWork& reads) {
        if (id != id_ || span_.items == 0) {
            finish();
            id_ = id;
            span_.busy.begin = part.busy.begin;
        }
        span_.busy.end = part.busy.end;
        span_.items += part.items;
        span_.bytes += reads.bytes;
        reading_ += reads.time;
    }

    void finish() {
        if (span_.items != 0) {
            const auto all = span_.busy.end - span_.busy.begin;
            trace_.add(std::exchange(span_, {}), Stage::parse, all - std::min<Clock::duration>(all, reading_));
            reading_ = {};
        }
    }

private:
    ThreadTrace& trace_;
    std::uint64_t id_ = 0;
    ThreadSpan span_{};
    std::chrono::nanoseconds reading_{0};
};

namespace {

/// For tests: as if the file had taken longer.
void read_slowly() {
    const InnerTimer timer(file_reads_of_thread());
    fault_delay("disk");
}

}  // namespace

ReadAhead::ReadAhead(const ItemSource& source, const ChunkGrid& grid, const ReadAheadOptions& options, Doorbell& bell)
    : source_(source),
      parts_(grid, choose_part_items(grid.chunk_items(), options.readers, source.granularity())),
      part_count_(parts_.parts()),
      input_bytes_(options.input_bytes),
      bell_(bell),
      own_memory_(NodeMemory::of_process(
          options.memory.empty() ? staged_bytes(options.staged, grid.chunk_items(), input_bytes_) : 0)),
      bins_(options.staged),
      next_(parts_.parts_done()),
      wanted_(options.on_demand ? grid.begin() : grid.chunks()),
      items_(grid.items()),
      reading_(options.readers),
      first_bad_(part_count_) {
    expects(options.staged >= 1 && options.readers >= 1, "ReadAhead: one chunk and one reader at least");
    const std::size_t bin_bytes = std::size_t{grid.chunk_items()} * input_bytes_;
    const std::span<std::byte> memory = options.memory.empty() ? own_memory_.bytes() : options.memory;
    expects(memory.size() == bin_bytes * bins_.size(), "ReadAhead: memory of staged_bytes()");
    for (std::uint64_t id = grid.begin(); id < grid.begin() + bins_.size(); ++id) {
        Bin& bin = bin_of(id);
        bin.items = memory.subspan((id % bins_.size()) * bin_bytes, bin_bytes);
        bin.missing = id < grid.chunks() ? parts_.parts_of(id) : 0;
        bin.turn = 2 * (id / bins_.size());
    }
    logs_.reserve(options.readers);
    for (std::uint32_t i = 0; i < options.readers; ++i) {
        logs_.push_back({ThreadTrace(fmt::format("reader {}", i), 2 * grid.chunks_left())});
    }
    Activities& activities = options.activities == nullptr ? own_activities_ : *options.activities;
    try {
        for (ThreadLog& log : logs_) {
            Activity& activity = activities.add(ActivityKind::reader, log.trace.name());
            readers_.emplace_back([this, &log, &activity] { read_chunks(log, activity); });
        }
    } catch (...) {  // no thread for it: those that run already end first
        join();
        throw;
    }
}

ReadAhead::~ReadAhead() {
    join();
}

std::optional<std::span<const std::byte>> ReadAhead::take(std::uint64_t id) {
    if (failed_.load(std::memory_order_acquire)) {
        std::rethrow_exception(failure_);
    }
    static_cast<void>(source_.known());  // or its index has failed
    if (wanted_.load(std::memory_order_relaxed) <= id) {
        wanted_.store(id + 1, std::memory_order_release);
        released_.ring();
    }
    const Bin& bin = bin_of(id);
    if (bin.turn.load(std::memory_order_acquire) != 2 * (id / bins_.size()) + 1) {
        return std::nullopt;
    }
    const std::uint32_t count = ChunkGrid(items(), parts_.grid().chunk_items()).at(id).count;
    return bin.items.first(std::size_t{count} * input_bytes_);
}

void ReadAhead::release(std::uint64_t id) {
    Bin& bin = bin_of(id);
    const std::uint64_t held = 2 * (id / bins_.size()) + 1;
    expects(bin.turn.load(std::memory_order_relaxed) == held, "ReadAhead: a chunk is released once, after it was read");
    bin.cut.store(0, std::memory_order_relaxed);
    bin.turn.store(held + 1, std::memory_order_release);
    released_.ring();
}

std::vector<ThreadLog> ReadAhead::take_logs() {
    join();
    return std::move(logs_);
}

std::vector<ThreadTrace> ReadAhead::traces_so_far() const {
    std::vector<ThreadTrace> traces;
    std::ranges::transform(logs_, std::back_inserter(traces), &ThreadLog::trace);
    return traces;
}

void ReadAhead::read_chunks(ThreadLog& log, Activity& activity) {
    const Instant begin = Clock::now();
    name_this_thread(log.trace.name());
    ChunkSpan span(log.trace);
    read_until_end(span, activity);
    span.finish();
    log.trace.set_run_delay(read_run_delay());
    activity.end();
    log.usage = usage_of_this_thread(log.trace.name(), begin);
    if (reading_.fetch_sub(1, std::memory_order_acq_rel) == 1 &&
        first_bad_.load(std::memory_order_relaxed) != part_count_) {
        failed_.store(true, std::memory_order_release);
        bell_.ring();
    }
}

void ReadAhead::read_until_end(ChunkSpan& span, Activity& activity) {
    for (;;) {
        const std::uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
        if (number >= part_count_) {
            return;
        }
        ChunkPart part = parts_.at(number);
        Bin& bin = bin_of(part.chunk.id);
        activity.wait(Stage::read, part.chunk.id);
        if (!wait_until_free(number, part.chunk.id) || !wait_until_known(part)) {
            return;
        }
        if (part.count == 0) {
            complete_part(part.chunk.id);
            continue;
        }
        const auto items =
            bin.items.subspan(std::size_t{part.begin} * input_bytes_, std::size_t{part.count} * input_bytes_);
        const Instant begin = Clock::now();
        const InnerWork before = file_reads_of_thread();
        activity.work(Stage::read, part.chunk.id);
        try {
            read_slowly();
            const std::uint32_t cut = source_.read(part.first(), part.count, items);
            bin.cut.fetch_add(cut, std::memory_order_relaxed);
            fault_delay("parse");
        } catch (...) {  // handed to the thread that takes chunks
            fail(number, std::current_exception());
            return;
        }
        const InnerWork& after = file_reads_of_thread();
        span.add(part.chunk.id, {.stage = Stage::read, .busy = {begin, Clock::now()}, .items = part.count},
                 {.time = after.time - before.time, .bytes = after.bytes - before.bytes});
        complete_part(part.chunk.id);
    }
}

bool ReadAhead::wait_until_free(std::uint64_t part, std::uint64_t chunk) {
    const Bin& bin = bin_of(chunk);
    const std::uint64_t free_turn = 2 * (chunk / bins_.size());
    for (;;) {
        const std::uint32_t seen = released_.listen();
        if (stopping_.load(std::memory_order_acquire) || part > first_bad_.load(std::memory_order_relaxed)) {
            return false;
        }
        if (bin.turn.load(std::memory_order_acquire) == free_turn && chunk < wanted_.load(std::memory_order_acquire)) {
            return true;
        }
        released_.wait(seen);
    }
}

/// Shortens `part` where the items end. False: there is no such chunk, or it will not be known.
bool ReadAhead::wait_until_known(ChunkPart& part) {
    const std::uint64_t end = part.first() + part.count;
    const Known known = source_.wait_for(end, nobody_waits_.get_token());
    if (known.count >= end) {
        return true;
    }
    if (known.is_all) {
        items_.store(known.count, std::memory_order_release);
        part.count = static_cast<std::uint32_t>(known.count - std::min(known.count, part.first()));
    }
    bell_.ring();
    return known.is_all && known.count > part.chunk.first;
}

/// Of the readers of a chunk, the last one to be done hands it out.
void ReadAhead::complete_part(std::uint64_t id) {
    Bin& bin = bin_of(id);
    if (bin.missing.fetch_sub(1, std::memory_order_acq_rel) != 1) {
        return;
    }
    const std::uint64_t chunks = parts_.grid().chunks();
    if (chunks - id > bins_.size()) {
        bin.missing.store(parts_.parts_of(id + bins_.size()),
                          std::memory_order_relaxed);  // nobody is at it before it is free
    }
    bin.turn.store(2 * (id / bins_.size()) + 1, std::memory_order_release);
    bell_.ring();
}

void ReadAhead::fail(std::uint64_t part, std::exception_ptr cause) {
    const std::lock_guard lock(failure_mutex_);
    if (part < first_bad_.load(std::memory_order_relaxed)) {
        failure_ = std::make_exception_ptr(StageError(Stage::read, parts_.at(part).chunk, std::move(cause)));
        first_bad_.store(part, std::memory_order_relaxed);
    }
    nobody_waits_.request_stop();  // earlier parts are known
    released_.ring();
}

void ReadAhead::join() {
    stopping_.store(true, std::memory_order_release);
    nobody_waits_.request_stop();
    released_.ring();
    for (std::thread& reader : readers_) {
        if (reader.joinable()) {
            reader.join();
        }
    }
}

}  // namespace sluice
