#include "core/weights/packed_weights.hpp"

#include <algorithm>
#include <utility>

#include "core/app.hpp"
#include "core/error.hpp"
#include "core/sync/work_team.hpp"

namespace sluice {
namespace {

constexpr std::size_t row_alignment = 64;  // a cache line: no vector load of a row straddles two

}  // namespace

const std::byte* PackedWeights::Room::data() const {
    expects(owner_ != nullptr && owner_->memory_.bytes().size() == owner_->bytes_, "weights: used before packing");
    return owner_->memory_.bytes().data() + offset_;
}

PackedWeights::Room PackedWeights::reserve(std::size_t bytes, std::vector<Part> parts) {
    expects(memory_.bytes().empty(), "weights: reserved after packing");
    const std::size_t offset = bytes_;
    bytes_ += (bytes + row_alignment - 1) / row_alignment * row_alignment;
    for (Part& part : parts) {
        tasks_.push_back({offset, std::move(part)});
    }
    return {*this, offset};
}

void PackedWeights::pack(NodeMemory memory, const Share& share, std::uint32_t threads) {
    expects(memory.bytes().size() == bytes_ && memory_.bytes().empty() && share.rank < share.ranks,
            "weights: packed twice, or into memory of the wrong size");
    const auto mine = static_cast<std::uint32_t>((tasks_.size() + share.ranks - 1 - share.rank) / share.ranks);
    const auto pack_part = [&](std::uint32_t i) {
        const Task& task = tasks_[share.rank + std::size_t{i} * share.ranks];
        task.part(memory.bytes().data() + task.offset);
    };
    WorkTeam(std::clamp(threads, 1U, std::max(mine, 1U)) - 1).run(mine, pack_part);
    memory_ = std::move(memory);
    tasks_ = {};
}

std::unique_ptr<LoadedApp> load_alone(const OpenApp& app, const WeightBlob& weights, Precision precision,
                                      DeviceKind kind, std::uint32_t threads) {
    std::unique_ptr<LoadedApp> loaded = app.load(weights, precision, kind);
    if (PackedWeights* const packed = loaded->weights(); packed != nullptr) {
        packed->pack(NodeMemory::of_process(packed->bytes()), {}, threads);
    }
    return loaded;
}

}  // namespace sluice
