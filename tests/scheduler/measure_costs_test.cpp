#include "scheduler/measure_costs.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "core/device/host_device.hpp"

namespace sluice {
namespace {

/// Keeps the numbers of items that it is given.
class WatchingModel final : public Model {
public:
    [[nodiscard]] IoShape shape() const noexcept override { return {2, 4}; }
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override {
        sizes.insert(items);
        EXPECT_EQ(in.size(), 2 * items);
        EXPECT_EQ(out.size(), 4 * items);
        static_cast<void>(stream);
    }

    std::set<std::size_t> sizes;
};

constexpr std::byte sample[] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};

bool usable(const StageCost& cost) {
    return cost.fixed >= 0 && cost.an_item >= 0;
}

TEST(MeasureCosts, TriesManySizesUpToTheLargest) {
    for (const std::uint32_t most : {1U, 63U, 64U, 1000U, 4096U}) {
        HostDevice device;
        WatchingModel model;
        const CostModel costs = measure_costs(device, model, sample, most);
        EXPECT_LE(*model.sizes.rbegin(), most);
        EXPECT_GE(2 * *model.sizes.rbegin(), most);
        EXPECT_GE(costs.whole_items, 1U);
        EXPECT_LE(costs.whole_items, most);
        EXPECT_TRUE(model.sizes.contains(costs.whole_items));
        EXPECT_TRUE(usable(costs.upload) && usable(costs.compute) && usable(costs.download));
    }
}

}  // namespace
}  // namespace sluice
