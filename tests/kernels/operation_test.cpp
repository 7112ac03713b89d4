#include <algorithm>
#include <array>
#include <numeric>

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

std::vector<std::byte> take(std::span<const std::byte> all, std::size_t bytes, std::span<const std::size_t> order) {
    std::vector<std::byte> taken;
    for (const std::size_t i : order) {
        taken.insert(taken.end(), all.begin() + static_cast<std::ptrdiff_t>(i * bytes),
                     all.begin() + static_cast<std::ptrdiff_t>((i + 1) * bytes));
    }
    return taken;
}

/// Runs items of `in`, alone and among others: each item's output always has the same bits. `huge`: an
/// item that is a neighbour only.
void expect_company_does_not_matter(const Layer& layer, std::span<const std::byte> in,
                                    std::span<const std::byte> huge) {
    const IoShape item = layer.shape();
    const std::size_t count = in.size() / item.input_bytes;
    std::vector<std::byte> with_huge(in.begin(), in.end());
    with_huge.insert(with_huge.end(), huge.begin(), huge.end());
    std::vector<std::byte> alone;
    for (std::size_t i = 0; i <= count; ++i) {
        const auto one = run_layer(layer, {1}, take(with_huge, item.input_bytes, std::array{i}), 1);
        alone.insert(alone.end(), one.begin(), one.end());
    }
    const auto expect_same = [&](std::span<const std::size_t> order) {
        const auto got = run_layer(layer, {order.size()}, take(with_huge, item.input_bytes, order), 100);
        EXPECT_TRUE(got == take(alone, item.output_bytes, order))
            << order.size() << " items, from " << order[0] << " on";
    };

    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    for (const std::size_t size : {2U, 7U, 8U, 9U, 13U, 32U}) {
        for (int round = 0; round < 3; ++round) {
            expect_same(std::span(order).first(size));
            std::ranges::rotate(order, order.begin() + 5);
        }
        std::ranges::reverse(order);
    }
    for (const std::size_t place : {0U, 6U, 7U, 8U, 12U}) {
        std::vector<std::size_t> among_huge(13, count);
        among_huge[place] = 3;
        expect_same(among_huge);
    }
}

TEST(HostOperation, GivesAnItemTheSameBitsInAnyCompanyAndPlace) {
    constexpr std::size_t count = 32;
    const auto expect_of_floats = [](const PackedLayer& layer) {
        const std::size_t floats = layer->shape().input_bytes / sizeof(float);
        auto huge = random_floats(floats, 4);
        std::ranges::for_each(huge, [](float& x) { x *= 1e30F; });
        const auto in = random_floats(count * floats, 3);
        expect_company_does_not_matter(*layer, std::as_bytes(std::span(in)), std::as_bytes(std::span(huge)));
    };
    {
        SCOPED_TRACE("symbol_conv_norm_relu_pool");
        constexpr SymbolConvShape shape{.length = 105, .symbols = 9, .taps = 7, .channels = 64, .pool = 3};
        constexpr std::size_t positions = 99;
        std::vector<std::uint8_t> symbols((count + 1) * shape.length);
        std::mt19937 bits(5);
        std::ranges::generate(symbols, [&] { return static_cast<std::uint8_t>(bits() % (shape.symbols + 1)); });
        const auto in = std::as_bytes(std::span(symbols));
        expect_company_does_not_matter(
            *packed_layer(&ConvolutionKernels::symbol_conv_norm_relu_pool, shape, random_floats(64 * 9 * 7, 1),
                          random_floats(64, 2), random_floats(positions * 64, 3), random_floats(positions * 64, 4)),
            in.first(count * shape.length), in.last(shape.length));
    }
    {
        SCOPED_TRACE("conv1d");
        expect_of_floats(packed_layer(
            &ConvolutionKernels::conv1d,
            Conv1dShape{.length = 33, .in_channels = 32, .out_channels = 48, .taps = 4, .relu = true, .pool = 3},
            random_floats(48 * 32 * 4, 1), random_floats(48, 2)));
    }
    {
        SCOPED_TRACE("norm_relu_pool");
        expect_of_floats(packed_layer(&ConvolutionKernels::norm_relu_pool, NormShape{6, 64, 3},
                                      random_floats(6 * 64, 1), random_floats(6 * 64, 2)));
    }
    {
        SCOPED_TRACE("linear");
        expect_of_floats(packed_layer(&DenseKernels::linear,
                                      LinearShape{.inputs = 1100, .outputs = 40, .relu = true, .channels = 4},
                                      random_floats(1100 * 40, 1), random_floats(40, 2)));
    }
    {
        SCOPED_TRACE("classify");
        expect_of_floats(packed_layer(&DenseKernels::classify,
                                      ClassifyShape{.inputs = 700, .classes = 5, .scores = true},
                                      random_floats(700 * 5, 1), random_floats(5, 2)));
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
