#include "apps/sequential_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/device/host_device.hpp"

namespace sluice {
namespace {

constexpr float untouched = -1;

/// Two stages that double each number: the first takes two items at a time, the second all.
class Doubling {
public:
    Doubling() {
        for (const std::uint32_t group : {2U, whole_chunk}) {
            SequentialStage& stage = stages_.emplace_back();
            stage.group_items = group;
            stage.layers.push_back(
                kernels_of(DeviceKind::host)
                    .dense.linear({.inputs = 1, .outputs = 1, .batch_invariant = true}, two_, zero_, weights_));
        }
        weights_.pack(NodeMemory::of_process(weights_.bytes()), {}, 1);
    }

    /// What becomes of the outputs of five items.
    std::vector<float> run(const std::uint32_t* active) {
        HostDevice device;
        SequentialModel model(device, stages_, 5);
        const std::vector<float> in{1, 2, 3, 4, 5};
        std::vector<float> out(5, untouched);
        const auto stream = device.make_stream({});
        model.forward_active(*stream, 5, active, std::as_bytes(std::span(in)), std::as_writable_bytes(std::span(out)));
        stream->record().wait();
        return out;
    }

private:
    std::vector<float> two_{2};
    std::vector<float> zero_{0};
    PackedWeights weights_;
    std::vector<SequentialStage> stages_;
};

TEST(SequentialModel, ComputesAllItemsOfAllGroups) {
    EXPECT_EQ(Doubling().run(nullptr), (std::vector<float>{4, 8, 12, 16, 20}));
}

TEST(SequentialModel, LeavesOutTheWorkOfItemsThatAreNotActive) {
    for (const std::uint32_t active : {0U, 1U, 2U, 3U, 5U, 6U}) {
        std::vector<float> expected{4, 8, 12, 16, 20};
        std::fill(expected.begin() + std::min<std::ptrdiff_t>(active, 5), expected.end(), untouched);

        EXPECT_EQ(Doubling().run(&active), expected) << active << " are active";
    }
}

}  // namespace
}  // namespace sluice
