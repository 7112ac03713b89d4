#include <algorithm>
#include <vector>

#include "core/machine/simd.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_operation.hpp"
#include "kernels/host/pack.hpp"
#include "kernels/host/symbol_statistics.hpp"

namespace sluice {
namespace {

// Pooled positions computed for all items before the next ones, so that gamma and beta come from memory once.
constexpr std::size_t block_positions = 32;

IoShape io_shape(const SymbolConvShape& shape) {
    return {shape.length, float_bytes(shape.positions() / shape.pool, shape.channels)};
}

struct Prepared {
    SymbolConvShape shape;
    PackedWeights::Room table;  // (taps, symbols + 1, channels): weights; bias in all rows of tap 0; blank last
    PackedWeights::Room gamma;  // (positions, channels)
    PackedWeights::Room beta;
    PackedWeights::Room statistics;
};

/// What one item's convolution reads.
struct Tables {
    explicit Tables(const Prepared& prepared)
        : shape(prepared.shape),
          table(prepared.table.floats()),
          gamma(prepared.gamma.floats()),
          beta(prepared.beta.floats()) {}

    SymbolConvShape shape;
    const float* table;
    const float* gamma;
    const float* beta;
};

/// Pooled positions [first, last) and channels [channel, channel + channels_per_step) of one item.
struct Part {
    std::size_t first;
    std::size_t last;
    std::size_t channel;
};

template <int lanes>
[[gnu::always_inline]] inline void convolve_part(const Tables& tables, const Part& part, const NormScale& norm,
                                                 const std::uint8_t* symbols, float* out) {
    using V = Pack<lanes>;
    constexpr std::size_t packs = 4;
    const SymbolConvShape& shape = tables.shape;
    const std::size_t tap_stride = std::size_t{shape.symbols + 1} * shape.channels;
    for (std::size_t step = 0; step < channels_per_step; step += packs * lanes) {
        const std::size_t channel = part.channel + step;
        for (std::size_t q = part.first; q < part.last; ++q) {
            typename V::Type best[packs] = {};
            for (std::size_t p = q * shape.pool; p < (q + 1) * shape.pool; ++p) {
                typename V::Type sum[packs] = {};
                const float* tap = tables.table + channel;
                for (std::size_t k = 0; k < shape.taps; ++k, tap += tap_stride) {
                    const float* row = tap + symbols[p + k] * std::size_t{shape.channels};
                    for (std::size_t i = 0; i < packs; ++i) {
                        typename V::Type x;
                        V::load(x, row + i * lanes);
                        sum[i] += x;
                    }
                }
                for (std::size_t i = 0; i < packs; ++i) {
                    const std::size_t at = p * shape.channels + channel + i * lanes;
                    typename V::Type gamma, beta;
                    V::load(gamma, tables.gamma + at);
                    V::load(beta, tables.beta + at);
                    const typename V::Type x = (sum[i] - norm.mean) * norm.scale * gamma + beta;
                    best[i] = (x <= best[i]) | (best[i] != best[i]) ? best[i] : x;  // NaN stays
                }
            }
            for (std::size_t i = 0; i < packs; ++i) {
                V::store(out + q * shape.channels + channel + i * lanes, best[i]);
            }
        }
    }
}

using ConvolvePart = void(const Tables&, const Part&, const NormScale&, const std::uint8_t*, float*);

[[gnu::target("arch=x86-64-v4")]] void convolve_part_v4(const Tables& t, const Part& part, const NormScale& norm,
                                                        const std::uint8_t* symbols, float* out) {
    convolve_part<16>(t, part, norm, symbols, out);
}
[[gnu::target("arch=x86-64-v3")]] void convolve_part_v3(const Tables& t, const Part& part, const NormScale& norm,
                                                        const std::uint8_t* symbols, float* out) {
    convolve_part<8>(t, part, norm, symbols, out);
}
void convolve_part_plain(const Tables& t, const Part& part, const NormScale& norm, const std::uint8_t* symbols,
                         float* out) {
    convolve_part<4>(t, part, norm, symbols, out);
}

class SymbolConv final : public HostOperation {
public:
    SymbolConv(const Prepared& prepared, std::uint32_t most_items)
        : HostOperation(io_shape(prepared.shape), most_items),
          tables_(prepared),
          statistics_(prepared.shape, reinterpret_cast<const double*>(prepared.statistics.data())),
          norms_(most_items),
          convolve_part_(for_this_cpu<ConvolvePart>(&convolve_part_v4, &convolve_part_v3, &convolve_part_plain)) {}

private:
    void run(std::size_t items, const std::byte* in, std::byte* out) override {
        const SymbolConvShape& shape = tables_.shape;
        const IoShape item = io_shape(shape);
        const auto symbols_of = [&](std::size_t i) {
            return reinterpret_cast<const std::uint8_t*>(in) + i * item.input_bytes;
        };
        for (std::size_t i = 0; i < items; ++i) {
            // A symbol outside the table would read out of bounds; items are checked where they are read.
            expects(*std::max_element(symbols_of(i), symbols_of(i) + shape.length) <= shape.symbols,
                    "symbol convolution: a symbol outside the alphabet");
            norms_[i] = statistics_.of(symbols_of(i));
        }
        const std::size_t pooled = shape.positions() / shape.pool;
        for (std::size_t channel = 0; channel < shape.channels; channel += channels_per_step) {
            for (std::size_t first = 0; first < pooled; first += block_positions) {
                const Part part{first, std::min(first + block_positions, pooled), channel};
                for (std::size_t i = 0; i < items; ++i) {
                    convolve_part_(tables_, part, norms_[i], symbols_of(i), as_floats(out + i * item.output_bytes));
                }
            }
        }
    }

    Tables tables_;
    SymbolStatistics statistics_;
    std::vector<NormScale> norms_;  // (items)
    ConvolvePart* convolve_part_;
};

class SymbolConvLayer final : public Layer {
public:
    explicit SymbolConvLayer(const Prepared& prepared) : prepared_(prepared) {}

    IoShape shape() const noexcept override { return io_shape(prepared_.shape); }
    std::unique_ptr<Operation> make_operation(Device&, std::uint32_t most_items) const override {
        return std::make_unique<SymbolConv>(prepared_, most_items);
    }

private:
    Prepared prepared_;
};

std::vector<float> make_table(const SymbolConvShape& shape, std::span<const float> weights,
                              std::span<const float> bias) {
    std::vector<float> table(std::size_t{shape.taps} * (shape.symbols + 1) * shape.channels);
    auto entry = table.begin();
    for (std::size_t k = 0; k < shape.taps; ++k) {
        for (std::size_t s = 0; s <= shape.symbols; ++s) {
            for (std::size_t c = 0; c < shape.channels; ++c) {
                const float weight = s == shape.symbols ? 0.0F : weights[(c * shape.symbols + s) * shape.taps + k];
                *entry++ = weight + (k == 0 ? bias[c] : 0.0F);
            }
        }
    }
    return table;
}

}  // namespace

std::unique_ptr<Layer> make_host_symbol_conv(const SymbolConvShape& shape, std::span<const float> weights,
                                             std::span<const float> bias, std::span<const float> gamma,
                                             std::span<const float> beta, PackedWeights& packed) {
    expects(shape.taps >= 1 && shape.taps <= shape.length && shape.pool >= 1 && shape.positions() % shape.pool == 0 &&
                shape.channels % channels_per_step == 0 && shape.symbols < 256,
            "symbol convolution: its sizes do not fit");
    expects(weights.size() == std::size_t{shape.channels} * shape.symbols * shape.taps &&
                bias.size() == shape.channels && gamma.size() == std::size_t{shape.channels} * shape.positions() &&
                beta.size() == gamma.size(),
            "symbol convolution: weights, bias, gamma or beta have the wrong size");
    const auto table = [=] { return make_table(shape, weights, bias); };
    const std::size_t table_bytes = std::size_t{shape.taps} * (shape.symbols + 1) * shape.channels * sizeof(float);
    return std::make_unique<SymbolConvLayer>(
        Prepared{shape, packed.reserve(table_bytes, {[table](std::byte* room) {
                                           std::ranges::copy(table(), reinterpret_cast<float*>(room));
                                       }}),
                 reserve_transposed(packed, gamma, shape.channels, shape.positions()),
                 reserve_transposed(packed, beta, shape.channels, shape.positions()),
                 packed.reserve(SymbolStatistics::bytes(shape), SymbolStatistics::parts(shape, table))});
}

}  // namespace sluice
