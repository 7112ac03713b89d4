#include "scheduler/reading.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t memory_each = std::uint64_t{256} << 20U;
constexpr std::uint64_t window_rounds = 32;  // a device may be this many times slower than the others
constexpr std::uint64_t fewest_held = 2;     // one is filled while the other is drained
constexpr std::uint64_t most_held = 1U << 20U;

std::uint32_t fit(std::uint64_t wanted, std::uint64_t bytes_each, std::uint64_t chunks) {
    const std::uint64_t affordable = bytes_each == 0 ? most_held : memory_each / bytes_each;
    const std::uint64_t fitting = std::clamp(std::min(wanted, affordable), fewest_held, most_held);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(chunks, 1, fitting));
}

// Per device, in its fastest precision; generous, because an idle reader sleeps.
constexpr double host_flop_per_second = 0.3e12;
constexpr double cuda_flop_per_second = 0.8e15;

/// File plus wire bytes per second of one reader, for JSON, the slowest format (docs/performance.md).
constexpr double reader_bytes_per_second = 0.4e9;

constexpr std::uint32_t fewest_readers = 2;
constexpr std::uint64_t fewest_readers_a_gpu = 4;

}  // namespace

QueueSizes choose_queue_sizes(IoShape shape, std::uint32_t chunk_items, std::uint64_t slots, std::uint64_t chunks) {
    const std::uint64_t bounded_slots = std::min(slots, most_held);
    return {.staged = fit(bounded_slots, std::uint64_t{chunk_items} * shape.input_bytes, chunks),
            .window = fit(window_rounds * bounded_slots, std::uint64_t{chunk_items} * shape.output_bytes, chunks)};
}

std::uint32_t choose_readers(const ReadingNeeds& needs) {
    expects(needs.device != DeviceKind::automatic, "the device kind is known before the readers");
    expects(std::isfinite(needs.flop_per_item) && needs.flop_per_item > 0, "an item's work is positive and finite");
    const double item_bytes = needs.file_bytes + needs.packed_bytes;
    expects(std::isfinite(item_bytes) && item_bytes >= 0, "an item's bytes are finite and not negative");
    const bool host = needs.device == DeviceKind::host;
    const double items_per_second =
        (host ? host_flop_per_second : cuda_flop_per_second) * needs.devices / needs.flop_per_item;
    const double wanted = std::ceil(items_per_second * item_bytes / reader_bytes_per_second);
    const std::uint32_t most = std::max(1U, host ? needs.cores / 2 : needs.cores);
    if (wanted >= most) {
        return most;
    }
    const std::uint64_t of_gpus = host ? 0 : std::min(fewest_readers_a_gpu * needs.devices, std::uint64_t{most / 2});
    const auto fewest = std::max(fewest_readers, static_cast<std::uint32_t>(of_gpus));
    return std::min(most, std::max(fewest, static_cast<std::uint32_t>(wanted)));
}

}  // namespace sluice
