#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/chunk.hpp"
#include "core/device.hpp"
#include "core/modes.hpp"
#include "core/packed_weights.hpp"
#include "kernels/certifier.hpp"

namespace sluice {

/// One step of a model on one device, with its own work space. Used by one driver.
class Operation {
public:
    Operation() = default;
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    virtual ~Operation() = default;

    /// Enqueues the step on `items` items, at most as many as it was made for; allocates nothing. `in` and `out` are
    /// device memory, items * shape().input_bytes and items * shape().output_bytes long, and do not overlap; they and
    /// this object stay alive until the stream is past the step. An item's output depends on its input and the weights;
    /// for linear() its last digit may depend on `items` too.
    virtual void enqueue(Stream& stream, std::size_t items, std::span<const std::byte> in,
                         std::span<std::byte> out) = 0;
};

/// A step's plan and its weights, shared by all operations made from it.
class Layer {
public:
    Layer() = default;
    Layer(const Layer&) = delete;
    Layer& operator=(const Layer&) = delete;
    virtual ~Layer() = default;

    /// Bytes of one item in and out.
    [[nodiscard]] virtual IoShape shape() const noexcept = 0;

    /// Thread-safe; once the weights are packed. The layer and the weights outlive the operation.
    [[nodiscard]] virtual std::unique_ptr<Operation> make_operation(Device& device, std::uint32_t max_items) const = 0;
};

/// A convolution over one-hot columns, given as symbols, with its norm: (items, length) uint8 ->
/// (items, positions / pool, channels) fp32, positions = length - taps + 1.
struct SymbolConvShape {
    std::uint32_t length;   ///< Symbols in an item.
    std::uint32_t symbols;  ///< Symbol ids are 0 … symbols; `symbols` itself is the blank, an all-zero column.
    std::uint32_t taps;
    std::uint32_t channels;  ///< A multiple of 64.
    std::uint32_t pool;      ///< Divides positions.

    [[nodiscard]] constexpr std::uint32_t positions() const noexcept { return length - taps + 1; }
};

/// (items, length, in_channels) fp32 -> (items, positions / pool, out_channels) fp32, positions = length - taps + 1.
struct Conv1dShape {
    std::uint32_t length;
    std::uint32_t in_channels;
    std::uint32_t out_channels;
    std::uint32_t taps;
    bool relu = false;
    std::uint32_t pool = 1;  ///< Divides positions; max pooling with this stride and width.

    [[nodiscard]] constexpr std::uint32_t positions() const noexcept { return length - taps + 1; }
};

/// (items, positions, channels) fp32 -> (items, positions / pool, channels) fp32.
struct NormShape {
    std::uint32_t positions;
    std::uint32_t channels;  ///< A multiple of 64.
    std::uint32_t pool;      ///< Divides positions.
};

/// (items, inputs) fp32 -> (items, outputs) fp32.
struct LinearShape {
    std::uint32_t inputs;
    std::uint32_t outputs;
    bool relu = false;
    /// Of the activations before, (positions, channels) in memory, when the weights number their inputs the other way
    /// round: input channel * positions + position. Divides inputs.
    std::uint32_t channels = 1;
};

/// Set in a label where one of the scores that it was chosen among is NaN or infinite, so that this is noticed where
/// the scores themselves stay on the device.
inline constexpr std::int32_t nonfinite_mark = 1 << 30;

/// (items, inputs) -> items records of int32 label and, with scores, `classes` fp32.
struct ClassifyShape {
    std::uint32_t inputs;
    std::uint32_t classes;
    bool scores = false;
    bool marks_nonfinite = false;  ///< By nonfinite_mark.
};

inline constexpr double norm_epsilon = 1e-5;  ///< Inside the root.

/// Every operation a model may enqueue, in one backend and precision. All tensors are row-major, activations
/// channels-last and, where this says fp32, in the backend's precision between the layers: Layer::shape() has the
/// bytes. In tf32x3 convolutions give and take every value in two parts, and norm_relu_pool takes those and gives what
/// linear layers take. Weights come in the order that PyTorch writes them and stay the caller's; layers reserve their
/// room in `packed` and read the weights when that is packed.
class Kernels {
public:
    Kernels() = default;
    Kernels(const Kernels&) = delete;
    Kernels& operator=(const Kernels&) = delete;
    virtual ~Kernels() = default;

    /// y[p][c] = bias[c] + sum over k of weights[c][in[p + k]][k]  (nothing where in[p + k] is the blank);
    /// n = gamma[c][p] * (y[p][c] - mean) / sqrt(variance + norm_epsilon) + beta[c][p], with mean and biased variance
    /// over all p and c of the item; out[q][c] = max(0, max over the `pool` positions p of q of n[p][c]).
    /// Zhang et al. 2015, section 2.1; Ba et al. 2016, section 3.
    /// weights: (channels, symbols, taps), bias: (channels), gamma, beta: (channels, positions).
    [[nodiscard]] virtual std::unique_ptr<Layer> symbol_conv_norm_relu_pool(
        const SymbolConvShape& shape, std::span<const float> weights, std::span<const float> bias,
        std::span<const float> gamma, std::span<const float> beta, PackedWeights& packed) const = 0;

    /// y[p][o] = bias[o] + sum over i and k of weights[o][i][k] * in[p + k][i]; then max(0, y) if relu; then the
    /// maximum of each `pool` positions. weights: (out_channels, in_channels, taps), bias: (out_channels).
    [[nodiscard]] virtual std::unique_ptr<Layer> conv1d(const Conv1dShape& shape, std::span<const float> weights,
                                                        std::span<const float> bias, PackedWeights& packed) const = 0;

    /// The norm, ReLU and pooling of symbol_conv_norm_relu_pool, of y = in. gamma, beta: (channels, positions).
    [[nodiscard]] virtual std::unique_ptr<Layer> norm_relu_pool(const NormShape& shape, std::span<const float> gamma,
                                                                std::span<const float> beta,
                                                                PackedWeights& packed) const = 0;

    /// out[o] = bias[o] + sum over i of weights[o][i] * in[i]; then max(0, out) if relu. weights: (outputs, inputs).
    [[nodiscard]] virtual std::unique_ptr<Layer> linear(const LinearShape& shape, std::span<const float> weights,
                                                        std::span<const float> bias, PackedWeights& packed) const = 0;

    /// s[c] = bias[c] + sum over i of weights[c][i] * in[i]; label = the smallest c with s[c] = max over all classes; a
    /// NaN never wins against an earlier class. weights: (classes, inputs).
    [[nodiscard]] virtual std::unique_ptr<Layer> classify(const ClassifyShape& shape, std::span<const float> weights,
                                                          std::span<const float> bias, PackedWeights& packed) const = 0;

    /// `exact` is a model on `device` whose records hold label and scores; it outlives the certifier. For backends
    /// with inexact precisions; elsewhere a broken assumption.
    [[nodiscard]] virtual std::unique_ptr<Certifier> make_certifier(Device& device, const CertifyShape& shape,
                                                                    Model& exact) const = 0;
};

/// The backend for devices of `kind`, which is not automatic, and `precision`, which is fp32 on the host and never
/// certified: that is three models. Throws Error (unavailable) when this build has none.
[[nodiscard]] const Kernels& kernels_of(DeviceKind kind, Precision precision = Precision::fp32);

}  // namespace sluice
