#include "tools/runtime/lone_compute.hpp"

#include <utility>

#include "tools/runtime/driver_team.hpp"

namespace sluice {
namespace {

class Halves {
public:
    Halves(FunctionRef<bool(const ItemRange&)> is_deadly, FunctionRef<void(const ItemRange&)> compute)
        : is_deadly_(is_deadly), compute_(compute) {}

    void take(const ItemRange& range) {
        if (!is_deadly_(range)) {
            compute_(range);
        } else if (range.count == 1) {
            failed.push_back(range.first);
        } else {
            split(range);
        }
    }

    void split(const ItemRange& range) {
        const std::uint32_t half = range.count / 2;
        take({.first = range.first, .count = half});
        take({.first = range.first + half, .count = range.count - half});
    }

    std::vector<std::uint64_t> failed{};

private:
    FunctionRef<bool(const ItemRange&)> is_deadly_;
    FunctionRef<void(const ItemRange&)> compute_;
};

}  // namespace

std::vector<std::uint64_t> compute_in_halves(const Chunk& chunk, FunctionRef<bool(const ItemRange&)> is_deadly,
                                             FunctionRef<void(const ItemRange&)> compute) {
    Halves halves(is_deadly, compute);
    const ItemRange all{.first = chunk.first, .count = chunk.count};
    if (chunk.count > 1) {
        halves.split(all);
    } else {
        halves.take(all);
    }
    return std::move(halves.failed);
}

LoneDevice::LoneDevice(const LoadedApp& app, DeviceKind kind, std::uint32_t number, std::uint32_t most_items,
                       std::span<const std::byte> sample)
    : device_(make_device(kind, number)),
      model_(app.make_model(*device_, {.max_items = most_items, .device_bytes = app.least_room(most_items)})) {
    if (!sample.empty()) {
        model_->calibrate(*device_->make_stream({}), sample);
    }
    runner_.emplace(*device_, *model_, most_items);
}

}  // namespace sluice
