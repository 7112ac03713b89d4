#include <algorithm>

#include "core/device/host_stream.hpp"
#include "core/error.hpp"
#include "tests/kernels/layer_runner.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t items = 7;
constexpr LinearShape doubling{.inputs = 1, .outputs = 1};

/// out = 2 * in
PackedLayer make_doubling() {
    return packed_layer(&DenseKernels::linear, doubling, std::vector<float>{2}, std::vector<float>{0});
}

void expect_active_alone(const Layer& layer, std::span<const std::byte> in, std::uint32_t active) {
    const std::size_t written = std::min(active, items) * layer.shape().output_bytes;
    const std::vector<std::byte> all = run_layer(layer, {items}, in, items);

    const std::vector<std::byte> some = run_layer(layer, {.items = items, .active = &active}, in, items);

    EXPECT_TRUE(std::equal(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(written), all.begin()));
    EXPECT_TRUE(std::all_of(some.begin() + static_cast<std::ptrdiff_t>(written), some.end(), [](std::byte b) {
        return b == std::byte{0xff};
    })) << "as it was poisoned";
}

TEST(HostOperation, ComputesActiveItemsAlone) {
    const auto linear =
        packed_layer(&DenseKernels::linear, LinearShape{12, 5}, random_floats(60, 1), random_floats(5, 2));
    const auto classify =
        packed_layer(&DenseKernels::classify, ClassifyShape{.inputs = 12, .classes = 3, .scores = true},
                     random_floats(36, 1), random_floats(3, 2));
    const auto convolution = packed_layer(&ConvolutionKernels::conv1d,
                                          Conv1dShape{.length = 6, .in_channels = 2, .out_channels = 3, .taps = 2},
                                          random_floats(12, 1), random_floats(3, 2));
    const auto in = random_floats(items * 12, 3);
    for (const std::uint32_t active : {0U, 1U, 6U, 7U, 8U, 1000U}) {
        SCOPED_TRACE(active);
        expect_active_alone(*linear, std::as_bytes(std::span(in)), active);
        expect_active_alone(*classify, std::as_bytes(std::span(in)), active);
        expect_active_alone(*convolution, std::as_bytes(std::span(in)), active);
    }
}

/// Each round doubles the first items, one fewer than the round before, and the loop ends when none is active.
TEST(HostOperation, LearnsInADeviceLoopHowManyItemsAreActive) {
    const auto layer = make_doubling();
    HostDevice device;
    const auto operation = layer->make_operation(device, items);
    HostStream stream({});
    std::vector<float> values(items, 1.0F);
    std::vector<float> doubled(items, 1.0F);
    std::uint32_t active = items - 1;
    const std::span<const std::byte> in = std::as_bytes(std::span(values));
    const std::span<std::byte> out = std::as_writable_bytes(std::span(doubled));
    const auto round = [&] {
        operation->enqueue(stream, {.items = items, .active = &active}, in, out);
        stream.copy(std::as_writable_bytes(std::span(values)), out);
        stream.run([&active] { --active; });
    };

    stream.loop(&active, 100, round);
    stream.record().wait();

    EXPECT_EQ(values, (std::vector<float>{64, 32, 16, 8, 4, 2, 1}));
}

TEST(HostOperation, RefusesAnotherNumberOfTensors) {
    const auto layer = make_doubling();
    HostDevice device;
    const auto operation = layer->make_operation(device, items);
    const auto stream = device.make_stream({});
    const std::vector<std::byte> memory(items * sizeof(float));
    const std::vector<std::span<const std::byte>> two(2, memory);
    std::vector<std::byte> to(items * sizeof(float));
    const std::span<std::byte> out = to;

    EXPECT_THROW(operation->enqueue(*stream, {items}, two, Outputs(&out, 1)), ContractViolation);
    EXPECT_THROW(operation->enqueue(*stream, {items}, Inputs(two).first(1), {}), ContractViolation);
}

}  // namespace
}  // namespace sluice
