#include "kernels/host/invariant_product.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/machine/simd.hpp"

namespace sluice {
namespace {

constexpr std::size_t depth_step = 512;
constexpr std::size_t panel = invariant_panel;
constexpr std::size_t row_step = 192;  // their inputs, depth_step of each, stay in the L2 cache

// Only functions compiled for these vectors take them as arguments; GCC warns at the template that makes them.
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

/// One depth_step of a product, or its remainder.
struct Step {
    std::size_t inputs;    ///< In this step.
    std::size_t outputs;   ///< Of a row.
    bool first;            ///< `out` holds nothing yet.
    bool relu;             ///< After this step.
    const float* weights;  ///< (panels, all inputs, panel), from the first of this step's inputs on
    std::size_t panel_stride;
    const float* bias;  ///< (panels, panel)
};

/// out = before + sums; `before` may be `out`.
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
            x = x < zero ? zero : x;  // NaN stays NaN
        }
        V::store(out + p * lanes, x);
    }
}

/// The same for the first `columns` outputs.
template <int lanes, int packs>
[[gnu::always_inline]] inline void add_some(const Step& step, const float* before,
                                            const typename Pack<lanes>::Type* sums, std::size_t columns, float* out) {
    float row[static_cast<std::size_t>(lanes) * packs] = {};
    std::copy_n(before, columns, row);
    add_all<lanes, packs>(step, row, sums, row);
    std::copy_n(row, columns, out);
}

/// Multiplies `rows` rows of `in`, (inputs, rows), by one panel's weights. `out`: the first row's first output of the
/// panel.
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

/// Takes `rows` rows at a time, then few_rows, then single ones, as pack_rows() does.
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

// Rows whose sums fit the registers.
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

struct ProductKernel {
    void (*multiply)(const Step& step, const float* in, std::size_t items, float* out);
    std::size_t rows;
};

ProductKernel kernel_of_this_cpu() {
    auto* const multiply = for_this_cpu(&multiply_v4, &multiply_v3, &multiply_plain);
    return {multiply, multiply == &multiply_v4 ? rows_v4 : multiply == &multiply_v3 ? rows_v3 : rows_plain};
}

/// Packs inputs [0, depth) of `items` rows, `stride` apart, as (inputs, rows) for each group of rows taken at a time.
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

/// At most row_step rows, so that depth_step of their inputs stay in the cache.
void multiply_some(const InvariantView& matrix, std::size_t rows, const float* in, float* out, AfterProduct after,
                   float* packed_in) {
    static const ProductKernel kernel = kernel_of_this_cpu();
    for (std::size_t at = 0; at < matrix.inputs; at += depth_step) {
        const std::size_t depth = std::min(depth_step, matrix.inputs - at);
        const Step step{.inputs = depth,
                        .outputs = matrix.outputs,
                        .first = at == 0,
                        .relu = after == AfterProduct::relu && at + depth == matrix.inputs,
                        .weights = matrix.weights + at * panel,
                        .panel_stride = matrix.inputs * panel,
                        .bias = matrix.bias};
        pack_rows(in + at, matrix.inputs, rows, depth, kernel.rows, packed_in);
        kernel.multiply(step, packed_in, rows, out);
    }
}

float* floats_at(std::byte* room) {
    return reinterpret_cast<float*>(room);
}

}  // namespace

void pack_invariant_panel(std::size_t inputs, std::span<const float> rows, float* to) {
    const std::size_t count = rows.size() / inputs;
    for (std::size_t k = 0; k < inputs; ++k) {
        for (std::size_t c = 0; c < panel; ++c) {
            to[k * panel + c] = c < count ? rows[c * inputs + k] : 0.0F;
        }
    }
}

InvariantMatrix reserve_invariant(std::size_t inputs, const WeightRows& rows, std::span<const float> bias,
                                  PackedWeights& packed) {
    const std::size_t outputs = bias.size();
    const std::size_t panels = (outputs + panel - 1) / panel;
    const std::size_t panel_floats = inputs * panel;
    std::vector<PackedWeights::Part> parts;
    for (std::size_t p = 0; p < panels; ++p) {
        parts.emplace_back([=](std::byte* room) {
            pack_invariant_panel(inputs, rows(p * panel, std::min(panel, outputs - p * panel)),
                                 floats_at(room) + p * panel_floats);
        });
    }
    InvariantMatrix matrix{.inputs = inputs, .outputs = outputs};
    matrix.weights = packed.reserve(panels * panel_floats * sizeof(float), std::move(parts));
    matrix.bias = packed.reserve(panels * panel * sizeof(float), {[=](std::byte* room) {
                                     std::fill_n(floats_at(room), panels * panel, 0.0F);
                                     std::ranges::copy(bias, floats_at(room));
                                 }});
    return matrix;
}

InvariantMatrix reserve_invariant(std::size_t inputs, std::span<const float> weights, std::span<const float> bias,
                                  PackedWeights& packed) {
    expects(weights.size() == inputs * bias.size(), "product: weights or bias have the wrong size");
    const auto rows = [=](std::size_t first, std::size_t count) {
        const std::span<const float> some = weights.subspan(first * inputs, count * inputs);
        return std::vector<float>(some.begin(), some.end());
    };
    return reserve_invariant(inputs, rows, bias, packed);
}

InvariantProduct::InvariantProduct(std::size_t most_inputs, std::size_t most_rows)
    : packed_in_(std::min(most_rows, row_step) * std::min(most_inputs, depth_step)) {}

void InvariantProduct::operator()(const InvariantView& matrix, std::size_t rows, const float* in, float* out,
                                  AfterProduct after) {
    for (std::size_t row = 0; row < rows; row += row_step) {
        multiply_some(matrix, std::min(row_step, rows - row), in + row * matrix.inputs, out + row * matrix.outputs,
                      after, packed_in_.data());
    }
}

}  // namespace sluice
