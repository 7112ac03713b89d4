#include <immintrin.h>

#include <algorithm>
#include <cmath>

#include "core/machine/simd.hpp"
#include "kernels/host/aligned.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_operation.hpp"
#include "kernels/host/linear_weights.hpp"

namespace sluice {
namespace {

// Every output is one chain of fused multiply-adds in the order of its inputs, cut after each depth_step of them:
//   out = ((bias + chain over the first depth_step inputs) + chain over the next ones) + …
// Nothing of that depends on the number of rows, on the instructions or on how the loops around are arranged.
constexpr std::size_t depth_step = 512;
constexpr std::size_t panel = 32;      // outputs whose weights lie together: (inputs, panel)
constexpr std::size_t row_step = 192;  // whose inputs, depth_step of each, stay in the second-level cache

// Only functions that are compiled for them take these vectors; GCC looks at the template that those are made of.
#pragma GCC diagnostic ignored "-Wpsabi"

/// sum = a * b + sum, rounded once.
template <int lanes>
struct MultiplyAdd {
    using Type = typename Pack<lanes>::Type;
    [[gnu::always_inline]] static inline void to(Type& sum, const Type& a, const Type& b) {
        if constexpr (lanes == 16) {
            sum = __builtin_ia32_vfmaddps512_mask(a, b, sum, static_cast<__mmask16>(-1), _MM_FROUND_CUR_DIRECTION);
        } else if constexpr (lanes == 8) {
            sum = __builtin_ia32_vfmaddps256(a, b, sum);
        } else {
            for (int i = 0; i < lanes; ++i) {
                sum[i] = std::fma(a[i], b[i], sum[i]);
            }
        }
    }
};

/// One depth_step of a product, or what is left for the last one.
struct Step {
    std::size_t inputs;    ///< In this step.
    std::size_t outputs;   ///< Of a row.
    bool first;            ///< Nothing is in `out` yet.
    bool relu;             ///< After this step.
    const float* weights;  ///< (panels, all inputs, panel), from the first of this step's inputs on
    std::size_t panel_stride;
    const float* bias;  ///< (panels, panel)
};

/// out = before + sums, in place if `before` is.
template <int lanes, int packs>
[[gnu::always_inline]] inline void add_all(const Step& step, const float* before,
                                           const typename Pack<lanes>::Type* sums, float* out) {
    using V = Pack<lanes>;
    for (int p = 0; p < packs; ++p) {
        typename V::Type x;
        V::load(x, before + p * lanes);
        x = x + sums[p];
        if (step.relu) {
            const typename V::Type zero = {};
            x = x < zero ? zero : x;  // a NaN stays one
        }
        V::store(out + p * lanes, x);
    }
}

/// The same for the first `columns` of them.
template <int lanes, int packs>
[[gnu::always_inline]] inline void add_some(const Step& step, const float* before,
                                            const typename Pack<lanes>::Type* sums, std::size_t columns, float* out) {
    float row[static_cast<std::size_t>(lanes) * packs] = {};
    std::copy_n(before, columns, row);
    add_all<lanes, packs>(step, row, sums, row);
    std::copy_n(row, columns, out);
}

/// `rows` rows of `in`, (inputs, rows), with one panel's weights. `out` is the first row's first output of the panel.
template <int lanes, int packs, int rows>
[[gnu::always_inline]] inline void multiply_rows(const Step& step, const float* in, std::size_t first_output,
                                                 float* out) {
    using V = Pack<lanes>;
    const float* panel_weights = step.weights + first_output / panel * step.panel_stride;
    for (std::size_t column = 0; column < panel; column += static_cast<std::size_t>(lanes) * packs) {
        if (first_output + column >= step.outputs) {
            return;
        }
        typename V::Type sums[rows][packs] = {};
        const float* weights = panel_weights + column;
        const float* a = in;
        for (std::size_t k = 0; k < step.inputs; ++k, weights += panel, a += rows) {
            typename V::Type w[packs];
            for (int p = 0; p < packs; ++p) {
                V::load(w[p], weights + p * lanes);
            }
            for (int r = 0; r < rows; ++r) {
                const typename V::Type x = a[r] - typename V::Type{};
                for (int p = 0; p < packs; ++p) {
                    MultiplyAdd<lanes>::to(sums[r][p], x, w[p]);
                }
            }
        }
        const std::size_t columns = step.outputs - first_output - column;
        for (std::size_t r = 0; r < rows; ++r) {
            float* const to = out + r * step.outputs + column;
            const float* const before = step.first ? step.bias + first_output + column : to;
            if (columns >= static_cast<std::size_t>(lanes) * packs) {
                add_all<lanes, packs>(step, before, sums[r], to);
            } else {
                add_some<lanes, packs>(step, before, sums[r], columns, to);
            }
        }
    }
}

constexpr std::size_t few_rows = 4;

/// Rows are taken `rows` at a time, then few_rows, then one by one: packed so by pack_rows().
template <int lanes, int packs, int rows>
[[gnu::always_inline]] inline void multiply(const Step& step, const float* in, std::size_t items, float* out) {
    for (std::size_t first = 0; first < step.outputs; first += panel) {
        const float* a = in;
        std::size_t row = 0;
        for (; row + rows <= items; row += rows, a += rows * step.inputs) {
            multiply_rows<lanes, packs, rows>(step, a, first, out + row * step.outputs + first);
        }
        for (; row + few_rows <= items; row += few_rows, a += few_rows * step.inputs) {
            multiply_rows<lanes, packs, few_rows>(step, a, first, out + row * step.outputs + first);
        }
        for (; row < items; ++row, a += step.inputs) {
            multiply_rows<lanes, packs, 1>(step, a, first, out + row * step.outputs + first);
        }
    }
}

// As many rows as the registers hold sums of.
constexpr std::size_t rows_v4 = 12;
constexpr std::size_t rows_v3 = 6;
constexpr std::size_t rows_plain = 4;

[[gnu::target("arch=x86-64-v4")]] void multiply_v4(const Step& step, const float* in, std::size_t items, float* out) {
    multiply<16, 2, rows_v4>(step, in, items, out);
}
[[gnu::target("arch=x86-64-v3")]] void multiply_v3(const Step& step, const float* in, std::size_t items, float* out) {
    multiply<8, 2, rows_v3>(step, in, items, out);
}
void multiply_plain(const Step& step, const float* in, std::size_t items, float* out) {
    multiply<4, 2, rows_plain>(step, in, items, out);
}

struct Kernel {
    void (*multiply)(const Step& step, const float* in, std::size_t items, float* out);
    std::size_t rows;
};

Kernel kernel_of_this_cpu() {
    auto* const multiply = for_this_cpu(&multiply_v4, &multiply_v3, &multiply_plain);
    return {multiply, multiply == &multiply_v4 ? rows_v4 : multiply == &multiply_v3 ? rows_v3 : rows_plain};
}

/// Inputs [0, depth) of `items` rows, each `stride` long, to (inputs, rows) for as many rows as are taken at a time.
void pack_rows(const float* in, std::size_t stride, std::size_t items, std::size_t depth, std::size_t rows, float* to) {
    for (std::size_t row = 0; row < items;) {
        const std::size_t left = items - row;
        const std::size_t count = left >= rows ? rows : left >= few_rows ? few_rows : 1;
        for (std::size_t r = 0; r < count; ++r) {
            for (std::size_t k = 0; k < depth; ++k) {
                to[k * count + r] = in[(row + r) * stride + k];
            }
        }
        to += count * depth;
        row += count;
    }
}

struct Prepared {
    LinearShape shape;
    PackedWeights::Room weights;  // (panels, inputs, panel), zeros beyond the outputs
    PackedWeights::Room bias;     // (panels, panel)
};

class InvariantLinear final : public HostOperation {
public:
    InvariantLinear(const Prepared& prepared, std::uint32_t max_items)
        : HostOperation(linear_io(prepared.shape), max_items),
          shape_(prepared.shape),
          weights_(prepared.weights.floats()),
          bias_(prepared.bias.floats()),
          kernel_(kernel_of_this_cpu()),
          packed_in_(std::min<std::size_t>(max_items, row_step) * std::min<std::size_t>(shape_.inputs, depth_step)) {}

private:
    void run(std::size_t items, const std::byte* in, std::byte* out) override {
        for (std::size_t row = 0; row < items; row += row_step) {
            multiply_some(std::min(row_step, items - row), as_floats(in) + row * shape_.inputs,
                          as_floats(out) + row * shape_.outputs);
        }
    }

    void multiply_some(std::size_t items, const float* in, float* out) {
        for (std::size_t at = 0; at < shape_.inputs; at += depth_step) {
            const std::size_t depth = std::min<std::size_t>(depth_step, shape_.inputs - at);
            const Step step{.inputs = depth,
                            .outputs = shape_.outputs,
                            .first = at == 0,
                            .relu = shape_.relu && at + depth == shape_.inputs,
                            .weights = weights_ + at * panel,
                            .panel_stride = std::size_t{shape_.inputs} * panel,
                            .bias = bias_};
            pack_rows(in + at, shape_.inputs, items, depth, kernel_.rows, packed_in_.data());
            kernel_.multiply(step, packed_in_.data(), items, out);
        }
    }

    LinearShape shape_;
    const float* weights_;
    const float* bias_;
    Kernel kernel_;
    AlignedVector<float> packed_in_;  // depth_step inputs of row_step rows, as pack_rows() leaves them
};

class InvariantLinearLayer final : public Layer {
public:
    InvariantLinearLayer(const LinearShape& shape, std::span<const float> weights, std::span<const float> bias,
                         PackedWeights& packed)
        : prepared_{shape, {}, {}} {
        const std::size_t panels = (shape.outputs + panel - 1) / panel;
        const std::size_t panel_floats = std::size_t{shape.inputs} * panel;
        std::vector<PackedWeights::Part> parts;
        for (std::size_t p = 0; p < panels; ++p) {
            parts.emplace_back([=](std::byte* room) {
                const std::size_t count = std::min<std::size_t>(panel, shape.outputs - p * panel);
                const std::vector<float> rows = rows_as_in_memory(shape, weights, p * panel, count);
                float* const to = as_floats(room) + p * panel_floats;
                for (std::size_t k = 0; k < shape.inputs; ++k) {
                    for (std::size_t c = 0; c < panel; ++c) {
                        to[k * panel + c] = c < count ? rows[c * shape.inputs + k] : 0.0F;
                    }
                }
            });
        }
        prepared_.weights = packed.reserve(panels * panel_floats * sizeof(float), std::move(parts));
        prepared_.bias = packed.reserve(panels * panel * sizeof(float), {[=](std::byte* room) {
                                            std::fill_n(as_floats(room), panels * panel, 0.0F);
                                            std::ranges::copy(bias, as_floats(room));
                                        }});
    }

    IoShape shape() const noexcept override { return linear_io(prepared_.shape); }
    std::unique_ptr<Operation> make_operation(Device&, std::uint32_t max_items) const override {
        return std::make_unique<InvariantLinear>(prepared_, max_items);
    }

private:
    Prepared prepared_;
};

}  // namespace

std::unique_ptr<Layer> make_host_invariant_linear(const LinearShape& shape, std::span<const float> weights,
                                                  std::span<const float> bias, PackedWeights& packed) {
    return std::make_unique<InvariantLinearLayer>(shape, weights, bias, packed);
}

}  // namespace sluice
