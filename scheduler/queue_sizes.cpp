#include "scheduler/queue_sizes.hpp"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::uint64_t memory_each = std::uint64_t{256} << 20U;
constexpr std::uint64_t window_rounds = 32;  // a device may be this many times slower than the others
constexpr std::uint64_t fewest = 2;          // one is filled while the other one is emptied
constexpr std::uint64_t most = 1U << 20U;

std::uint32_t fit(std::uint64_t wanted, std::uint64_t bytes_each, std::uint64_t chunks) {
    const std::uint64_t affordable = bytes_each == 0 ? most : memory_each / bytes_each;
    const std::uint64_t fitting = std::clamp(std::min(wanted, affordable), fewest, most);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(chunks, 1, fitting));
}

}  // namespace

QueueSizes choose_queue_sizes(IoShape shape, std::uint32_t chunk_items, std::uint64_t slots, std::uint64_t chunks) {
    const std::uint64_t bounded_slots = std::min(slots, most);
    return {.staged = fit(bounded_slots, std::uint64_t{chunk_items} * shape.input_bytes, chunks),
            .window = fit(window_rounds * bounded_slots, std::uint64_t{chunk_items} * shape.output_bytes, chunks)};
}

}  // namespace sluice
