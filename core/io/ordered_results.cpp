#include "core/io/ordered_results.hpp"

#include <utility>

#include "core/stage_error.hpp"

namespace sluice {

OrderedResults::OrderedResults(OutputWriter& writer, const ChunkGrid& grid, std::uint32_t output_bytes,
                               std::uint32_t window, Doorbell& bell)
    : writer_(writer),
      grid_(grid),
      output_bytes_(output_bytes),
      bell_(bell),
      places_(window),
      trace_(Stage::write, grid.chunks()) {
    expects(window >= 1, "OrderedResults: a window of one chunk at least");
    for (Place& place : places_) {
        place.outputs.resize(std::size_t{grid.chunk_items()} * output_bytes);
    }
    thread_ = std::thread([this] { write_chunks(); });
}

OrderedResults::~OrderedResults() {
    join();
}

bool OrderedResults::has_room(std::uint64_t id) const {
    return id - written_.load(std::memory_order_acquire) < places_.size();
}

std::span<std::byte> OrderedResults::place(std::uint64_t id) {
    expects(has_room(id), "OrderedResults: outputs of a chunk that there was no room for");
    return std::span(place_of(id).outputs).first(bytes_of(id));
}

void OrderedResults::arrived(std::uint64_t id) {
    Place& place = place_of(id);
    const std::uint64_t open_turn = 2 * (id / places_.size());
    expects(place.turn.load(std::memory_order_acquire) == open_turn, "OrderedResults: a chunk's outputs came twice");
    place.turn.store(open_turn + 1, std::memory_order_release);
    arrivals_.ring();
}

std::uint64_t OrderedResults::chunks_written() const {
    if (failed_.load(std::memory_order_acquire)) {
        std::rethrow_exception(failure_);
    }
    return written_.load(std::memory_order_acquire);
}

LaneTrace OrderedResults::take_trace() {
    join();
    return std::move(trace_);
}

std::size_t OrderedResults::bytes_of(std::uint64_t id) const {
    return std::size_t{grid_.at(id).count} * output_bytes_;
}

void OrderedResults::write_chunks() {
    for (std::uint64_t id = 0; id < grid_.chunks(); ++id) {
        Place& place = place_of(id);
        const std::uint64_t full_turn = 2 * (id / places_.size()) + 1;
        if (!wait_until_arrived(place, full_turn)) {
            return;
        }
        const Chunk chunk = grid_.at(id);
        const auto outputs = std::span<const std::byte>(place.outputs).first(bytes_of(id));
        const Instant begin = Clock::now();
        try {
            writer_.append(chunk.count, outputs);
        } catch (...) {  // handed to the thread that places results
            failure_ = std::make_exception_ptr(StageError(Stage::write, chunk, std::current_exception()));
            failed_.store(true, std::memory_order_release);
            bell_.ring();
            return;
        }
        trace_.add({.busy = {begin, Clock::now()}, .items = chunk.count, .bytes = outputs.size()});
        place.turn.store(full_turn + 1, std::memory_order_release);
        items_.fetch_add(chunk.count, std::memory_order_relaxed);
        written_.store(id + 1, std::memory_order_release);
        bell_.ring();
    }
}

bool OrderedResults::wait_until_arrived(const Place& place, std::uint64_t full_turn) {
    for (;;) {
        const std::uint32_t seen = arrivals_.listen();
        if (place.turn.load(std::memory_order_acquire) == full_turn) {
            return true;
        }
        if (stopping_.load(std::memory_order_acquire)) {
            return false;
        }
        arrivals_.wait(seen);
    }
}

void OrderedResults::join() {
    stopping_.store(true, std::memory_order_release);
    arrivals_.ring();
    if (thread_.joinable()) {
        thread_.join();
    }
}

}  // namespace sluice
