#include "core/output/ordered_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/files/checksum.hpp"
#include "core/process/fault_point.hpp"
#include "core/stage_error.hpp"
#include "core/trace/thread_usage.hpp"

namespace sluice {
namespace {

/// Memory and networks fail without a word.
void check_unchanged(std::span<const std::byte> outputs, const OutputsOrigin& origin) {
    if (const std::uint64_t checksum = checksum_of(outputs); checksum != origin.checksum) {
        throw Error(ExitCode::internal,
                    {.id = "E-MEM-113",
                     .where = fmt::format("outputs of rank {}", origin.rank),
                     .what = fmt::format("have changed since they left the device (checksum {}, expected {})",
                                         hexadecimal(checksum), hexadecimal(origin.checksum)),
                     .hint = "memory or the network is at fault, on that rank's node or on rank 0's"});
    }
}

}  // namespace

ThreadTrace OrderedResults::make_trace(const ChunkGrid& grid) {
    return {"writer", 3 * grid.chunks_left()};
}

OrderedResults::OrderedResults(OutputWriter& writer, const ChunkGrid& grid, std::uint32_t output_bytes,
                               std::uint32_t window, Doorbell& bell, Activity* activity)
    : writer_(writer),
      grid_(grid),
      output_bytes_(output_bytes),
      bell_(bell),
      places_(window),
      activity_(activity == nullptr ? own_activity_ : *activity),
      log_{make_trace(grid)},
      written_(grid.begin()) {
    expects(window >= 1, "OrderedResults: a window of one chunk at least");
    for (std::uint64_t id = grid.begin(); id < grid.begin() + window; ++id) {
        Place& place = place_of(id);
        place.outputs.resize(std::size_t{grid.chunk_items()} * output_bytes);
        place.turn = 2 * (id / places_.size());
    }
    thread_ = std::thread([this] { write_chunks(); });
}

OrderedResults::~OrderedResults() {
    join();
}

bool OrderedResults::has_room(std::uint64_t id) const {
    return id - written_.load(std::memory_order_acquire) < places_.size();
}

void OrderedResults::note_cut(std::uint64_t id, std::uint32_t items) {
    expects(has_room(id), "OrderedResults: items of a chunk that there was no room for");
    place_of(id).cut = items;
}

std::span<std::byte> OrderedResults::place(const Chunk& chunk) {
    expects(has_room(chunk.id), "OrderedResults: outputs of a chunk that there was no room for");
    Place& place = place_of(chunk.id);
    place.chunk = chunk;
    return std::span(place.outputs).first(bytes_of(chunk));
}

void OrderedResults::arrived(std::uint64_t id, const OutputsOrigin& origin) {
    Place& place = place_of(id);
    const std::uint64_t open_turn = 2 * (id / places_.size());
    expects(place.turn.load(std::memory_order_acquire) == open_turn, "OrderedResults: a chunk's outputs came twice");
    place.origin = origin;
    place.turn.store(open_turn + 1, std::memory_order_release);
    arrivals_.ring();
}

void OrderedResults::hurry() {
    hurrying_.store(true, std::memory_order_release);
    arrivals_.ring();
}

std::uint64_t OrderedResults::chunks_written() const {
    if (failed_.load(std::memory_order_acquire)) {
        std::rethrow_exception(failure_);
    }
    return written_.load(std::memory_order_acquire);
}

ThreadLog OrderedResults::take_log() {
    join();
    return std::move(log_);
}

void OrderedResults::write_chunks() {
    const Instant begin = Clock::now();
    name_this_thread("writer");
    for (std::uint64_t id = grid_.begin(); id < grid_.chunks(); ++id) {
        try {
            if (!write_next(id)) {
                break;
            }
        } catch (...) {  // handed to the thread that places results
            failure_ = std::make_exception_ptr(StageError(Stage::write, grid_.at(id), std::current_exception()));
            failed_.store(true, std::memory_order_release);
            bell_.ring();
            break;
        }
    }
    log_.trace.set_run_delay(read_run_delay());
    activity_.end();
    log_.usage = usage_of_this_thread("writer", begin);
}

/// False: the thread is to end.
bool OrderedResults::write_next(std::uint64_t id) {
    Place& place = place_of(id);
    const std::uint64_t full_turn = 2 * (id / places_.size()) + 1;
    activity_.wait(Stage::gather, id);
    if (!wait_until_arrived(place, full_turn)) {
        return false;
    }
    activity_.work(Stage::write, id);
    const std::uint32_t items = place.chunk.count;
    const auto outputs = std::span<const std::byte>(place.outputs).first(bytes_of(place.chunk));
    const Instant begin = Clock::now();
    const std::chrono::nanoseconds before = commits_of_thread().time;
    check_unchanged(outputs, place.origin);
    fault_delay("write");
    writer_.append(items, outputs);
    const Instant end = Clock::now();
    const std::chrono::nanoseconds committing = commits_of_thread().time - before;
    const Instant committed = std::max(begin, end - committing);
    log_.trace.add({.stage = Stage::write, .busy = {begin, committed}, .items = items, .bytes = outputs.size()});
    uncommitted_.items += items;
    uncommitted_.bytes += outputs.size();
    if (committing.count() > 0) {
        add_commit({committed, end});
    }
    cut_.fetch_add(std::exchange(place.cut, 0U), std::memory_order_relaxed);
    place.turn.store(full_turn + 1, std::memory_order_release);
    items_.fetch_add(items, std::memory_order_relaxed);
    written_.store(id + 1, std::memory_order_release);
    bell_.ring();
    return true;
}

/// Meanwhile it commits what was written, when that is due.
bool OrderedResults::wait_until_arrived(const Place& place, std::uint64_t full_turn) {
    for (;;) {
        const std::uint32_t seen = arrivals_.listen();
        if (place.turn.load(std::memory_order_acquire) == full_turn) {
            return true;
        }
        if (stopping_.load(std::memory_order_acquire)) {
            return false;
        }
        const auto due = writer_.time_to_commit();
        if (!due) {
            arrivals_.wait(seen);
        } else if (hurrying_.load(std::memory_order_acquire) || due->count() <= 0) {
            const std::uint64_t id = activity_.state().chunk;
            activity_.work(Stage::commit, id);
            const Instant begin = Clock::now();
            writer_.commit();
            add_commit({begin, Clock::now()});
            activity_.wait(Stage::gather, id);
        } else {
            arrivals_.wait_for(seen, *due);
        }
    }
}

void OrderedResults::add_commit(const Interval& busy) {
    uncommitted_.stage = Stage::commit;
    uncommitted_.busy = busy;
    log_.trace.add(std::exchange(uncommitted_, {}));
}

void OrderedResults::join() {
    stopping_.store(true, std::memory_order_release);
    arrivals_.ring();
    if (thread_.joinable()) {
        thread_.join();
    }
}

}  // namespace sluice
