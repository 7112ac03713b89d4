#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "core/device/host_device.hpp"
#include "kernels/kernels.hpp"
#include "tests/support/host_precisions.hpp"

namespace sluice {

/// Non-zero random values, the same in every run.
inline std::vector<float> random_floats(std::size_t count, std::uint32_t seed) {
    std::mt19937 bits(seed);
    std::vector<float> values(count);
    for (float& value : values) {
        value = (static_cast<float>(bits() % 2000) - 999.5F) / 1000.0F;
    }
    return values;
}

/// The same, but numbers of bf16 where that is the precision: a layer has nothing to round.
inline std::vector<float> random_floats(std::size_t count, std::uint32_t seed, Precision precision) {
    std::vector<float> values = random_floats(count, seed);
    if (precision == Precision::bf16) {
        std::ranges::transform(values, values.begin(), [](float x) { return from_bf16(to_bf16(x)); });
    }
    return values;
}

/// A layer of the host's kernels with its weights packed.
struct PackedLayer {
    std::unique_ptr<PackedWeights> weights = std::make_unique<PackedWeights>();
    std::unique_ptr<Layer> layer{};

    const Layer& operator*() const { return *layer; }
    const Layer* operator->() const { return layer.get(); }
};

template <class Family>
const Family& host_family(Precision precision);
template <>
inline const ConvolutionKernels& host_family(Precision precision) {
    return kernels_of(DeviceKind::host, precision).convolution;
}
template <>
inline const DenseKernels& host_family(Precision precision) {
    return kernels_of(DeviceKind::host, precision).dense;
}

/// `make` is one of a family's functions.
template <class Family, class... Parameters, class Shape, class... Tensors>
PackedLayer packed_layer(Precision precision, std::unique_ptr<Layer> (Family::*make)(Parameters...) const,
                         const Shape& shape, const Tensors&... tensors) {
    PackedLayer packed;
    packed.layer = (host_family<Family>(precision).*make)(shape, tensors..., *packed.weights);
    packed.weights->pack(NodeMemory::of_process(packed.weights->bytes()), {}, 2);
    return packed;
}

/// In fp32.
template <class Family, class... Parameters, class Shape, class... Tensors>
PackedLayer packed_layer(std::unique_ptr<Layer> (Family::*make)(Parameters...) const, const Shape& shape,
                         const Tensors&... tensors) {
    return packed_layer(Precision::fp32, make, shape, tensors...);
}

/// Runs a layer on a host device, with outputs poisoned before.
inline std::vector<std::byte> run_layer(const Layer& layer, const Batch& batch, std::span<const std::byte> in,
                                        std::uint32_t most_items) {
    HostDevice device;
    const auto operation = layer.make_operation(device, most_items);
    const auto stream = device.make_stream({});
    const Buffer from = device.allocate(MemorySpace::device, in.size());
    const Buffer to = device.allocate(MemorySpace::device, batch.items * layer.shape().output_bytes);
    std::memcpy(from.bytes().data(), in.data(), in.size());
    std::memset(to.bytes().data(), 0xff, to.bytes().size());  // NaN in fp32

    operation->enqueue(*stream, batch, from.bytes(), to.bytes());
    stream->record().wait();
    return {to.bytes().begin(), to.bytes().end()};
}

template <class T>
std::vector<float> run_layer_floats(const Layer& layer, std::size_t items, const std::vector<T>& in,
                                    std::uint32_t most_items) {
    const auto bytes = run_layer(layer, {items}, std::as_bytes(std::span(in)), most_items);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

/// ‖got - want‖ / ‖want‖ in double; infinite when sizes differ or something is not finite.
inline double relative_error(std::span<const float> got, std::span<const double> want) {
    if (got.size() != want.size()) {
        return std::numeric_limits<double>::infinity();
    }
    double difference = 0;
    double norm = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        difference += (got[i] - want[i]) * (got[i] - want[i]);
        norm += want[i] * want[i];
    }
    const double error = std::sqrt(difference / norm);
    return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

/// fp32 products and sums of up to some thousand terms against fp64.
constexpr double fp32_tolerance = 2e-6;

}  // namespace sluice
