#include "core/io/read_ahead.hpp"

#include <utility>

#include "core/stage_error.hpp"

namespace sluice {

ReadAhead::ReadAhead(const ItemSource& source, const ChunkGrid& grid, const ReadAheadOptions& options, Doorbell& bell)
    : source_(source),
      grid_(grid),
      input_bytes_(options.input_bytes),
      bell_(bell),
      bins_(options.staged),
      reading_(options.readers),
      first_bad_(grid.chunks()) {
    expects(options.staged >= 1 && options.readers >= 1, "ReadAhead: one chunk and one reader at least");
    for (Bin& bin : bins_) {
        bin.items.resize(std::size_t{grid.chunk_items()} * input_bytes_);
    }
    traces_.reserve(options.readers);
    for (std::uint32_t i = 0; i < options.readers; ++i) {
        traces_.emplace_back(Stage::read, grid.chunks());
    }
    try {
        for (LaneTrace& trace : traces_) {
            readers_.emplace_back([this, &trace] { read_chunks(trace); });
        }
    } catch (...) {  // no thread for it: those that run already end first
        join();
        throw;
    }
}

ReadAhead::~ReadAhead() {
    join();
}

std::optional<std::span<const std::byte>> ReadAhead::take(std::uint64_t id) const {
    if (failed_.load(std::memory_order_acquire)) {
        std::rethrow_exception(failure_);
    }
    const Bin& bin = bin_of(id);
    if (bin.turn.load(std::memory_order_acquire) != 2 * (id / bins_.size()) + 1) {
        return std::nullopt;
    }
    return std::span(bin.items).first(std::size_t{grid_.at(id).count} * input_bytes_);
}

void ReadAhead::release(std::uint64_t id) {
    bin_of(id).turn.fetch_add(1, std::memory_order_release);
    released_.ring();
}

std::vector<LaneTrace> ReadAhead::take_traces() {
    join();
    return std::move(traces_);
}

void ReadAhead::read_chunks(LaneTrace& trace) {
    read_until_end(trace);
    if (reading_.fetch_sub(1, std::memory_order_acq_rel) == 1 &&
        first_bad_.load(std::memory_order_relaxed) != grid_.chunks()) {
        failed_.store(true, std::memory_order_release);
        bell_.ring();
    }
}

void ReadAhead::read_until_end(LaneTrace& trace) {
    for (;;) {
        const std::uint64_t id = next_.fetch_add(1, std::memory_order_relaxed);
        if (id >= grid_.chunks()) {
            return;
        }
        Bin& bin = bin_of(id);
        const std::uint64_t free_turn = 2 * (id / bins_.size());
        if (!wait_until_free(id, free_turn)) {
            return;
        }
        const Chunk chunk = grid_.at(id);
        const auto items = std::span(bin.items).first(std::size_t{chunk.count} * input_bytes_);
        const Instant begin = Clock::now();
        try {
            source_.read(chunk.first, chunk.count, items);
        } catch (...) {  // handed to the thread that takes chunks
            fail(chunk, std::current_exception());
            return;
        }
        trace.add({.busy = {begin, Clock::now()}, .items = chunk.count, .bytes = items.size()});
        bin.turn.store(free_turn + 1, std::memory_order_release);
        bell_.ring();
    }
}

bool ReadAhead::wait_until_free(std::uint64_t id, std::uint64_t free_turn) {
    const Bin& bin = bin_of(id);
    for (;;) {
        const std::uint32_t seen = released_.listen();
        if (stopping_.load(std::memory_order_acquire) || id > first_bad_.load(std::memory_order_relaxed)) {
            return false;
        }
        if (bin.turn.load(std::memory_order_acquire) == free_turn) {
            return true;
        }
        released_.wait(seen);
    }
}

void ReadAhead::fail(const Chunk& chunk, std::exception_ptr cause) {
    const std::lock_guard lock(failure_mutex_);
    if (chunk.id < first_bad_.load(std::memory_order_relaxed)) {
        failure_ = std::make_exception_ptr(StageError(Stage::read, chunk, std::move(cause)));
        first_bad_.store(chunk.id, std::memory_order_relaxed);
    }
    released_.ring();
}

void ReadAhead::join() {
    stopping_.store(true, std::memory_order_release);
    released_.ring();
    for (std::thread& reader : readers_) {
        if (reader.joinable()) {
            reader.join();
        }
    }
}

}  // namespace sluice
