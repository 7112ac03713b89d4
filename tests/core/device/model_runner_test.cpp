#include "core/device/model_runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <vector>

#include "core/device/host_device.hpp"
#include "core/error.hpp"
#include "tests/support/streaming_model.hpp"

namespace sluice {
namespace {

/// Each item is a byte, and comes out twice.
class DoublingModel final : public Model {
public:
    [[nodiscard]] IoShape shape() const noexcept override { return {1, 2}; }
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override {
        for (std::size_t i = 0; i < items; ++i) {
            stream.copy(out.subspan(2 * i, 1), in.subspan(i, 1));
            stream.copy(out.subspan(2 * i + 1, 1), in.subspan(i, 1));
        }
        ++forwards;
    }
    int forwards = 0;
};

std::vector<std::byte> bytes(std::initializer_list<int> values) {
    std::vector<std::byte> all;
    std::ranges::transform(values, std::back_inserter(all), [](int value) { return static_cast<std::byte>(value); });
    return all;
}

TEST(ModelRunner, BringsBackTheOutputsOfBatchesOfAnySize) {
    HostDevice device;
    DoublingModel model;
    ModelRunner runner(device, model, 3);

    EXPECT_TRUE(std::ranges::equal(runner.run(bytes({1, 2, 3})), bytes({1, 1, 2, 2, 3, 3})));
    EXPECT_TRUE(std::ranges::equal(runner.run(bytes({4})), bytes({4, 4})));
    EXPECT_TRUE(runner.run({}).empty());
}

TEST(ModelRunner, FinishesEachBatchOfAModelThatHoldsChunksBack) {
    HostDevice device;
    test::StreamingModel model(4, 2);
    ModelRunner runner(device, model, 9);
    std::vector<std::byte> items(9 * test::fake_input_bytes);
    for (std::uint64_t i = 0; i < 9; ++i) {
        test::fake_item(i, std::span(items).subspan(i * test::fake_input_bytes, test::fake_input_bytes));
    }
    const std::vector<std::uint64_t> expected = test::streamed_results(9);

    for (int round = 0; round < 2; ++round) {
        EXPECT_TRUE(std::ranges::equal(runner.run(items), std::as_bytes(std::span(expected))));
    }
}

TEST(ModelRunner, TimesTheStagesInTheirOrder) {
    HostDevice device;
    DoublingModel model;
    ModelRunner runner(device, model, 2);
    std::ranges::copy(bytes({7, 8}), runner.items().begin());
    std::unique_ptr<CapturedWork> recording;

    const ModelRunner::Events at = runner.enqueue(2, &recording);
    at.downloaded.wait();

    EXPECT_LE(at.begun.completed_at(), at.uploaded.completed_at());
    EXPECT_LE(at.uploaded.completed_at(), at.computed.completed_at());
    EXPECT_LE(at.computed.completed_at(), at.downloaded.completed_at());
    EXPECT_EQ(model.forwards, 1);
}

TEST(ModelRunner, RefusesMoreItemsThanItWasMadeFor) {
    HostDevice device;
    DoublingModel model;
    ModelRunner runner(device, model, 2);

    EXPECT_THROW(static_cast<void>(runner.run(bytes({1, 2, 3}))), ContractViolation);
}

}  // namespace
}  // namespace sluice
