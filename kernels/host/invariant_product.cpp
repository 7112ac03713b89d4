#include "kernels/host/invariant_product.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/machine/simd.hpp"
#include "kernels/host/tile_product.hpp"

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

constexpr std::size_t cache_line = 64;

constexpr std::size_t divide_up(std::size_t a, std::size_t b) {
    return (a + b - 1) / b;
}

/// One depth_step of a product, or its remainder.
struct Step {
    std::size_t inputs;    ///< In this step.
    std::size_t outputs;   ///< Of a row.
    bool first;            ///< `out` holds nothing yet.
    bool relu;             ///< After this step.
    const float* weights;  ///< (panels, all inputs, panel), from the first of this step's inputs on
    const float* next;     ///< The same of the step that follows.
    std::size_t panel_stride;
    const float* bias;  ///< (panels, panel)
};

/// What a group of rows brings into the L2 cache while it is multiplied: its share of the next panel's weights. Without
/// it a core waits for memory at each panel's first group and leaves memory idle during the others.
struct Prefetch {
    const char* from;
    std::size_t stride;  ///< Bytes for each input of each pass over the current panel.
};

/// Rows that are multiplied together: as few groups of at most `most` as possible, and none much smaller than another,
/// since each reads all weights.
struct RowGroups {
    RowGroups(std::size_t all, std::size_t most) : rows(all), count(divide_up(all, most)) {}

    /// A group's first row; group `count` begins behind the last row.
    [[nodiscard]] std::size_t first(std::size_t group) const { return group * rows / count; }

    std::size_t rows;
    std::size_t count;
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
[[gnu::always_inline]] inline void multiply_rows(const Step& step, const Prefetch& prefetch, const float* in,
                                                 std::size_t first_output, float* out) {
    using V = Pack<lanes>;
    const float* panel_weights = step.weights + first_output / panel * step.panel_stride;
    const char* upcoming = prefetch.from;
    for (std::size_t column = 0; column < panel; column += static_cast<std::size_t>(lanes) * packs) {
        if (first_output + column >= step.outputs) {
            return;
        }
        typename V::Type sums[rows][packs] = {};
        const float* weights = panel_weights + column;
        const float* a = in;
        for (std::size_t k = 0; k < step.inputs; ++k, weights += panel, a += rows) {
            __builtin_prefetch(upcoming, 0, 2);
            __builtin_prefetch(upcoming + cache_line, 0, 2);  // the stride is at most two lines
            upcoming += prefetch.stride;
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

/// multiply_rows() of `rows` rows, at most `most`.
template <int lanes, int packs, int most>
[[gnu::always_inline]] inline void multiply_group(const Step& step, const Prefetch& prefetch, std::size_t rows,
                                                  const float* in, std::size_t first_output, float* out) {
    if constexpr (most > 1) {
        if (rows < most) {
            multiply_group<lanes, packs, most - 1>(step, prefetch, rows, in, first_output, out);
            return;
        }
    }
    multiply_rows<lanes, packs, most>(step, prefetch, in, first_output, out);
}

/// Takes groups of at most `most` rows, as pack_rows() does.
template <int lanes, int packs, int most>
[[gnu::always_inline]] inline void multiply(const Step& step, const float* in, std::size_t items, float* out) {
    const RowGroups groups(items, most);
    constexpr std::size_t passes_of_group = panel / (static_cast<std::size_t>(lanes) * packs);
    const std::size_t stride = divide_up(panel * sizeof(float), groups.count * passes_of_group);
    for (std::size_t first = 0; first < step.outputs; first += panel) {
        const float* const next =
            first + panel < step.outputs ? step.weights + (first / panel + 1) * step.panel_stride : step.next;
        for (std::size_t g = 0; g < groups.count; ++g) {
            const std::size_t row = groups.first(g);
            const Prefetch prefetch{
                .from = reinterpret_cast<const char*>(next + g * step.inputs * panel / groups.count), .stride = stride};
            multiply_group<lanes, packs, most>(step, prefetch, groups.first(g + 1) - row, in + row * step.inputs, first,
                                               out + row * step.outputs + first);
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

/// Packs inputs [0, depth) of `items` rows, `stride` apart, as (inputs, rows) for each group of rows.
void pack_rows(const float* in, std::size_t stride, std::size_t items, std::size_t depth, std::size_t most, float* to) {
    const RowGroups groups(items, most);
    for (std::size_t g = 0; g < groups.count; ++g) {
        const std::size_t row = groups.first(g);
        const std::size_t count = groups.first(g + 1) - row;
        for (std::size_t k = 0; k < depth; ++k) {
            for (std::size_t r = 0; r < count; ++r) {
                *to++ = in[(row + r) * stride + k];
            }
        }
    }
}

/// At most row_step rows, so that depth_step of their inputs stay in the cache.
void multiply_some(const InvariantView& matrix, std::size_t rows, const float* in, float* out, AfterProduct after,
                   float* packed_in) {
    static const ProductKernel kernel = kernel_of_this_cpu();
    const auto* const weights = static_cast<const float*>(matrix.weights);
    for (std::size_t at = 0; at < matrix.inputs; at += depth_step) {
        const std::size_t depth = std::min(depth_step, matrix.inputs - at);
        const bool last = at + depth == matrix.inputs;
        const Step step{.inputs = depth,
                        .outputs = matrix.outputs,
                        .first = at == 0,
                        .relu = after == AfterProduct::relu && last,
                        .weights = weights + at * panel,
                        .next = weights + (last ? 0 : at + depth) * panel,
                        .panel_stride = matrix.inputs * panel,
                        .bias = matrix.bias};
        pack_rows(in + at, matrix.inputs, rows, depth, kernel.rows, packed_in);
        kernel.multiply(step, packed_in, rows, out);
    }
}

/// A cache line more than a row has: a tile's rows would share a few sets of the L1 cache where it is a power of two.
std::size_t rounded_stride(std::size_t inputs) {
    return padded_depth(inputs) + tile_depth;
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

float InvariantView::weight(std::size_t output, std::size_t input) const {
    const std::size_t column = output % panel;
    if (precision == Precision::fp32) {
        return static_cast<const float*>(weights)[(output - column) * inputs + input * panel + column];
    }
    const auto* const halves = static_cast<const std::uint16_t*>(weights);
    return from_bf16(halves[(output - column) * padded_depth(inputs) + (input / 2 * panel + column) * 2 + input % 2]);
}

InvariantMatrix reserve_invariant(Precision precision, std::size_t inputs, const WeightRows& rows,
                                  const WeightValues& bias, PackedWeights& packed) {
    expects(precision == Precision::fp32 || precision == Precision::bf16, "the host multiplies in fp32 and bf16");
    const bool rounds = precision == Precision::bf16;
    const std::size_t outputs = bias.size();
    const std::size_t panels = divide_up(outputs, panel);
    const std::size_t panel_bytes =
        panel * (rounds ? padded_depth(inputs) * sizeof(std::uint16_t) : inputs * sizeof(float));
    std::vector<PackedWeights::Part> parts;
    for (std::size_t p = 0; p < panels; ++p) {
        parts.emplace_back([=](std::byte* room) {
            const std::vector<float> some = rows(p * panel, std::min(panel, outputs - p * panel));
            std::byte* const to = room + p * panel_bytes;
            rounds ? pack_tile_panel(inputs, some, reinterpret_cast<std::uint16_t*>(to))
                   : pack_invariant_panel(inputs, some, floats_at(to));
        });
    }
    InvariantMatrix matrix{.inputs = inputs, .outputs = outputs, .precision = precision};
    matrix.weights = packed.reserve(panels * panel_bytes, std::move(parts));
    matrix.bias = packed.reserve(panels * panel * sizeof(float), {[=](std::byte* room) {
                                     std::fill_n(floats_at(room), panels * panel, 0.0F);
                                     bias.read(floats_at(room));
                                 }});
    return matrix;
}

InvariantMatrix reserve_invariant(Precision precision, std::size_t inputs, const WeightValues& weights,
                                  const WeightValues& bias, PackedWeights& packed) {
    expects(weights.size() == inputs * bias.size(), "product: weights or bias have the wrong size");
    const auto rows = [=](std::size_t first, std::size_t count) {
        return weights.subspan(first * inputs, count * inputs).floats();
    };
    return reserve_invariant(precision, inputs, rows, bias, packed);
}

InvariantProduct::InvariantProduct(Precision precision, std::size_t most_inputs, std::size_t most_rows) {
    if (precision == Precision::fp32) {
        packed_in_.resize(std::min(most_rows, row_step) * std::min(most_inputs, depth_step));
    } else {
        rounded_in_.resize(padded_rows(std::min(most_rows, row_step)) * rounded_stride(most_inputs));
    }
}

void InvariantProduct::operator()(const InvariantView& matrix, std::size_t rows, const float* in, float* out,
                                  AfterProduct after) {
    for (std::size_t row = 0; row < rows; row += row_step) {
        const std::size_t count = std::min(row_step, rows - row);
        const float* const some_in = in + row * matrix.inputs;
        float* const some_out = out + row * matrix.outputs;
        matrix.precision == Precision::fp32 ? multiply_some(matrix, count, some_in, some_out, after, packed_in_.data())
                                            : multiply_rounded(matrix, count, some_in, some_out, after);
    }
}

/// Rows that only fill a tile up hold what was left there: no other row depends on them.
void InvariantProduct::multiply_rounded(const InvariantView& matrix, std::size_t rows, const float* in, float* out,
                                        AfterProduct after) {
    const std::size_t depth = padded_depth(matrix.inputs);
    const std::size_t stride = rounded_stride(matrix.inputs);
    expects(padded_rows(rows) * stride <= rounded_in_.size(), "product: larger than it was made for");
    for (std::size_t row = 0; row < rows; ++row) {
        std::uint16_t* const to = &rounded_in_[row * stride];
        round_to_bf16(matrix.inputs, in + row * matrix.inputs, to);
        std::fill(to + matrix.inputs, to + depth, std::uint16_t{0});
    }
    multiply_tiles({depth, matrix.outputs, static_cast<const std::uint16_t*>(matrix.weights), matrix.bias}, rows,
                   rounded_in_.data(), stride, after == AfterProduct::relu, out);
}

}  // namespace sluice
