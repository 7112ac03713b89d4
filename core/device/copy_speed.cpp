#include "core/device/copy_speed.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

constexpr int rounds = 3;

double bytes_per_second(Stream& stream, std::span<std::byte> to, std::span<const std::byte> from) {
    double best = 0;
    for (int i = 0; i < rounds; ++i) {
        const Instant begin = Clock::now();
        stream.copy(to, from);
        stream.record().wait();
        const double seconds = Seconds(Clock::now() - begin).count();
        best = std::max(best, static_cast<double>(to.size()) / seconds);
    }
    return best;
}

}  // namespace

CopySpeed measure_copies(Device& device, std::size_t bytes) {
    expects(bytes > 0, "measure_copies: nothing to copy");
    const Buffer there = device.allocate(MemorySpace::device, bytes);
    const Buffer pinned = device.allocate(MemorySpace::pinned, bytes);
    std::vector<std::byte> pageable(bytes);
    const std::unique_ptr<Stream> stream = device.make_stream({});
    return {.pinned_up = bytes_per_second(*stream, there.bytes(), pinned.bytes()),
            .pinned_down = bytes_per_second(*stream, pinned.bytes(), there.bytes()),
            .pageable_up = bytes_per_second(*stream, there.bytes(), pageable),
            .pageable_down = bytes_per_second(*stream, pageable, there.bytes())};
}

}  // namespace sluice
