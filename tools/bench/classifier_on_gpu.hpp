#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "kernels/cuda/classifier/conv_gemm.hpp"
#include "kernels/cuda/classifier/label.hpp"
#include "kernels/cuda/classifier/linear_gemm.hpp"
#include "kernels/cuda/classifier/norm_pool.hpp"
#include "kernels/cuda/classifier/symbol_conv_gpu.hpp"
#include "tools/bench/cuda_bench.hpp"

namespace sluice::bench {

/// The classifier's layers, as in the app.
inline constexpr std::uint32_t filters = 256;
inline constexpr std::uint32_t features = 1024;
inline constexpr std::uint32_t classes = 4;
inline constexpr SymbolConvGpuShape conv1{.length = 1014, .symbols = 70, .channels = filters};
inline constexpr ConvGemmShape conv2{
    .length = 336, .channels = filters, .outputs = filters, .taps = 7, .relu = true, .pool = 3};
inline constexpr ConvGemmShape conv3{.length = 110, .channels = filters, .outputs = filters, .taps = 3, .relu = true};
inline constexpr ConvGemmShape conv4{.length = 108, .channels = filters, .outputs = filters, .taps = 3, .relu = true};
inline constexpr ConvGemmShape conv5{.length = 106, .channels = filters, .outputs = filters, .taps = 3, .relu = true};
inline constexpr ConvGemmShape conv6{.length = 104, .channels = filters, .outputs = filters, .taps = 3};
inline constexpr NormPoolShape norm6{.positions = 102, .channels = filters};
inline constexpr std::uint32_t last_positions = norm6.positions / NormPoolShape::pool;
inline constexpr LinearGemmShape fc1{.inputs = last_positions * filters, .outputs = features, .relu = true};
inline constexpr LinearGemmShape fc2{.inputs = features, .outputs = features, .relu = true};
inline constexpr LabelShape fc3{.inputs = features, .classes = classes, .scores = true};

/// Tensors in the file's layout: convolutions (out, in, tap), linear layers (out, in), norms (channel, position).
struct ClassifierTensors {
    struct Layer {
        std::vector<float> weights;
        std::vector<float> bias;
    };
    Layer conv[6];
    std::vector<float> gamma1, beta1, gamma6, beta6;
    Layer fc[3];

    /// Normal weights that preserve the activations' spread across layers: every value matters, as in a trained
    /// network.
    [[nodiscard]] static ClassifierTensors normal_spread(std::uint32_t seed);
};

/// Four scores and their label, all in double. symbols: (1014).
struct Verdict {
    std::int32_t label;
    double scores[classes];
};
[[nodiscard]] Verdict classify_in_double(const ClassifierTensors& tensors, std::span<const std::uint8_t> symbols);

/// The whole forward pass on the current device, for a fixed number of items.
class ClassifierOnGpu {
public:
    /// `options`: for convolutions by wgmma.
    ClassifierOnGpu(const CudaDevice& gpu, const ClassifierTensors& tensors, Precision precision, std::uint32_t items,
                    const ConvGemmOptions& options);

    struct Step {
        std::string name;
        Launch launch;
        double flop;  ///< Per launch.
    };
    [[nodiscard]] const std::vector<Step>& steps() const noexcept { return steps_; }
    void enqueue(cudaStream_t stream) const;

    void set_symbols(std::span<const std::uint8_t> symbols);  ///< (items, 1014)
    [[nodiscard]] std::vector<Verdict> verdicts() const;

private:
    DeviceMemory& hold(std::span<const std::byte> content);
    DeviceMemory& room(std::size_t bytes);

    std::uint32_t items_;
    std::vector<std::unique_ptr<DeviceMemory>> memory_;
    DeviceMemory* symbols_ = nullptr;
    DeviceMemory* records_ = nullptr;
    std::vector<Step> steps_;
};

/// The convolution of `items` items on the units for `precision`; on tensor cores by `instructions`. `options`: for
/// wgmma.
[[nodiscard]] Launch convolution(const ConvGemmShape& shape, Precision precision, MatrixInstructions instructions,
                                 std::uint32_t items, const ConvGemmMemory& memory, ConvGemmOptions options);

inline constexpr double flop_per_item = 487.9e6;  ///< Convolution 1 is a table lookup and not counted.

}  // namespace sluice::bench
