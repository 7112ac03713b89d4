#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cuda/decoder/product/float_product.hpp"
#include "kernels/cuda/gemm/gemm.hpp"
#include "tools/bench/cuda_bench.hpp"
#include "tools/bench/ladder/cublas_peer.hpp"
#include "tools/bench/ladder/windows.hpp"
#include "tools/bench/probes.hpp"

namespace sluice::bench {
namespace {

constexpr double tera = 1e12;

/// A product of a model, with its epilogue. Where rows are normalised, the product scales them by wgmma; those that
/// add a residual leave sums of their rows for it.
struct ProductOfModel {
    std::string_view name;
    GemmShape shape;
    bool residual = false;
    bool normalises = false;

    [[nodiscard]] constexpr double flop() const noexcept { return 2.0 * shape.rows * shape.columns * shape.depth; }
};

constexpr std::uint32_t prompt_rows = 135168;  // of 8,448 prompts of 16 tokens
constexpr std::uint32_t text_rows = 8448;
constexpr ProductOfModel products_of_models[] = {
    {"GRU, layer 0", {16896, 3072, 1024}},
    {"GRU, layer 1", {16896, 3072, 2048}},
    {"GRU, scores", {16896, 256, 1024}},
    {"GPT-2, prompts, attention", {prompt_rows, 2304, 768}, false, true},
    {"GPT-2, prompts, projection", {prompt_rows, 768, 768}, true},
    {"GPT-2, prompts, expansion", {prompt_rows, 3072, 768, Activation::gelu_tanh}, false, true},
    {"GPT-2, prompts, contraction", {prompt_rows, 768, 3072}, true},
    {"GPT-2, texts, attention", {text_rows, 2304, 768}, false, true},
    {"GPT-2, texts, projection", {text_rows, 768, 768}, true},
    {"GPT-2, texts, expansion", {text_rows, 3072, 768, Activation::gelu_tanh}, false, true},
    {"GPT-2, texts, contraction", {text_rows, 768, 3072}, true},
    {"classifier, fc1", {12096, 1024, 8704, Activation::relu}},
    {"square", {4096, 4096, 4096}},
    {"large square", {8192, 8192, 8192}},
};

constexpr std::uint32_t pass_rows = 16896;
constexpr ProductOfModel products_of_larger[] = {
    {"GPT-2 medium, attention", {pass_rows, 3072, 1024}, false, true},
    {"GPT-2 medium, projection", {pass_rows, 1024, 1024}, true},
    {"GPT-2 medium, expansion", {pass_rows, 4096, 1024, Activation::gelu_tanh}, false, true},
    {"GPT-2 medium, contraction", {pass_rows, 1024, 4096}, true},
    {"GPT-2 large, attention", {pass_rows, 3840, 1280}, false, true},
    {"GPT-2 large, projection", {pass_rows, 1280, 1280}, true},
    {"GPT-2 large, expansion", {pass_rows, 5120, 1280, Activation::gelu_tanh}, false, true},
    {"GPT-2 large, contraction", {pass_rows, 1280, 5120}, true},
    {"GPT-2 XL, attention", {pass_rows, 4800, 1600}, false, true},
    {"GPT-2 XL, projection", {pass_rows, 1600, 1600}, true},
    {"GPT-2 XL, expansion", {pass_rows, 6400, 1600, Activation::gelu_tanh}, false, true},
    {"GPT-2 XL, contraction", {pass_rows, 1600, 6400}, true},
};

bool by_wgmma() {
    return instructions_of_current_gpu() == MatrixInstructions::wgmma;
}

/// Sets of random operands in bf16, larger together than the second-level cache.
class ProductOperands {
public:
    explicit ProductOperands(const ProductOfModel& product) {
        constexpr std::size_t more_than_cached = std::size_t{200} << 20U;
        constexpr std::size_t most_sets = 8;
        const GemmShape& shape = product.shape;
        const std::size_t a = std::size_t{shape.rows} * shape.depth;
        const std::size_t b = std::size_t{shape.columns} * shape.depth;
        const std::size_t out = std::size_t{shape.rows} * shape.columns;
        const std::size_t sets = std::min(most_sets, more_than_cached / ((a + b + out) * 2) + 1);
        const auto random = [](std::size_t count, float deviation, std::uint32_t seed) {
            return encode(Precision::bf16, normal(count, deviation, seed));
        };
        const std::vector<std::byte> a_values = random(a, 1, 1);
        const std::vector<std::byte> b_values = random(b, 1 / std::sqrt(static_cast<float>(shape.depth)), 2);
        const std::vector<std::byte> residual_values = random(product.residual ? out : 0, 1, 3);
        const std::vector<RowSums> sums = sums_of_normal(product);
        for (std::size_t i = 0; i < sets; ++i) {
            a_.push_back(std::make_unique<DeviceMemory>(std::span<const std::byte>(a_values)));
            b_.push_back(std::make_unique<DeviceMemory>(std::span<const std::byte>(b_values)));
            out_.push_back(std::make_unique<DeviceMemory>(2 * out));
            if (product.residual) {
                residuals_.push_back(std::make_unique<DeviceMemory>(std::span<const std::byte>(residual_values)));
            }
            if (product.normalises && by_wgmma()) {
                sums_.push_back(std::make_unique<DeviceMemory>(std::as_bytes(std::span(sums))));
            }
            if (product.residual && by_wgmma()) {
                out_sums_.push_back(std::make_unique<DeviceMemory>(out / summed_values * sizeof(RowSums)));
            }
        }
        const std::vector<float> bias = normal(shape.columns, 0.5F, 4);
        bias_ = std::make_unique<DeviceMemory>(std::as_bytes(std::span(bias)));
        bias_of_library_ = std::make_unique<DeviceMemory>(std::span<const std::byte>(encode(Precision::bf16, bias)));
    }

    [[nodiscard]] std::size_t sets() const noexcept { return a_.size(); }
    [[nodiscard]] GemmMemory of(std::size_t set) const {
        return {.a = a_[set]->as(),
                .b = b_[set]->as(),
                .bias = bias_->as<float>(),
                .residual = residual(set),
                .out = out_[set]->as(),
                .norm = {.sums = sums_.empty() ? nullptr : sums_[set]->as<RowSums>(), .epsilon = 1e-5F},
                .out_sums = out_sums_.empty() ? nullptr : out_sums_[set]->as<RowSums>()};
    }
    [[nodiscard]] ladder::PeerMemory of_library(std::size_t set) const {
        return {.a = a_[set]->as(),
                .b = b_[set]->as(),
                .bias = bias_of_library_->as(),
                .residual = residual(set),
                .out = out_[set]->as()};
    }

private:
    /// Of rows with mean 0 and variance 1.
    [[nodiscard]] static std::vector<RowSums> sums_of_normal(const ProductOfModel& product) {
        const std::size_t count = std::size_t{product.shape.rows} * product.shape.depth / summed_values;
        const RowSums sums{.values = 0, .squares = summed_values};
        return std::vector<RowSums>(product.normalises ? count : 0, sums);
    }

    [[nodiscard]] const void* residual(std::size_t set) const {
        return residuals_.empty() ? nullptr : residuals_[set]->as();
    }

    std::vector<std::unique_ptr<DeviceMemory>> a_, b_, out_, residuals_, sums_, out_sums_;
    std::unique_ptr<DeviceMemory> bias_, bias_of_library_;
};

std::string number_or_dash(std::optional<double> value, double by) {
    return value ? fmt::format("{:.2f}", *value * by) : "-";
}

void print_window(const std::string& name, const ladder::Window& window, double flop) {
    fmt::print("  {:36} {:6.0f} TFLOP/s  {:>8} MHz  {:>6} J a TFLOP\n", name, flop / window.seconds_per_call / tera,
               window.clock_mhz ? fmt::format("{:.0f}", *window.clock_mhz) : "-",
               number_or_dash(window.joules_per_call, tera / flop));
    std::fflush(stdout);
}

/// The products with a tile, one per set of operands.
std::vector<Gemm> make_products(const ProductOfModel& product, const ProductOperands& operands,
                                const GemmOptions& options) {
    std::vector<Gemm> products;
    for (std::size_t set = 0; set < operands.sets(); ++set) {
        products.emplace_back(product.shape, Precision::bf16, operands.of(set), options);
    }
    return products;
}

ladder::Product enqueuing(const std::vector<Gemm>& products) {
    return [&products](std::size_t set, cudaStream_t stream) { products[set].enqueue(stream); };
}

/// Prints the first of two windows, in percent of the second's speed; returns that share.
double print_beside(const std::string& name, const std::vector<ladder::Window>& seen, std::string_view other,
                    double flop) {
    print_window(name, seen[0], flop);
    const double share = seen[1].seconds_per_call / seen[0].seconds_per_call;
    fmt::print("    {:.1f} % of {}\n", 100 * share, other);
    return share;
}

double geometric_mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) {
        sum += std::log(value);
    }
    return std::exp(sum / static_cast<double>(values.size()));
}

/// GPT-2's head, of which only the two largest scores of each tile remain, beside cuBLASLt's product that writes all
/// scores, of a vocabulary that is padded as it likes. Returns the share.
double time_head(double seconds, cudaStream_t stream) {
    constexpr std::uint32_t vocabulary = 50257;
    constexpr std::uint32_t padded_vocabulary = 50304;  // a multiple of 128
    constexpr std::uint32_t depth = 768;
    fmt::print("GPT-2, head: {} x {} x {}; cuBLASLt writes {} scores a row\n", text_rows, vocabulary, depth,
               padded_vocabulary);
    const ProductOfModel product{"GPT-2, head", {text_rows, padded_vocabulary, depth}};
    const ProductOperands operands(product);
    const DeviceMemory active(std::as_bytes(std::span(&text_rows, 1)));
    const DeviceMemory bests(std::size_t{text_rows} * decoder::most_best_tiles(vocabulary) * sizeof(decoder::TileBest));
    std::vector<decoder::FloatProduct> heads;
    for (std::size_t set = 0; set < operands.sets(); ++set) {
        const GemmMemory of = operands.of(set);
        heads.emplace_back(decoder::FloatProductShape{.rows = text_rows, .columns = vocabulary, .depth = depth},
                           Precision::bf16,
                           decoder::FloatProductMemory{.a = of.a,
                                                       .b = of.b,
                                                       .bias = nullptr,
                                                       .residual = nullptr,
                                                       .out = nullptr,
                                                       .stride = 0,
                                                       .bests = bests.as<decoder::TileBest>(),
                                                       .active = active.as<std::uint32_t>()});
    }
    ladder::Windows windows(operands.sets(), stream);
    const ladder::CublasPeer library({.m = text_rows, .n = padded_vocabulary, .k = depth, .precision = Precision::bf16},
                                     operands.of_library(0), stream);
    const std::vector<ladder::Window> seen =
        windows.in_turn({[&](std::size_t set, cudaStream_t s) { heads[set].enqueue(s); },
                         [&](std::size_t set, cudaStream_t s) { library.enqueue(operands.of_library(set), s); }},
                        seconds);
    const double flop = 2.0 * text_rows * vocabulary * depth;
    print_window(fmt::format("cuBLASLt, the best of {}", library.tried()), seen[1], flop);
    return print_beside("chained, as models launch it", seen, "cuBLASLt", flop);
}

}  // namespace

void time_tiles(bool of_larger, cudaStream_t stream) {
    constexpr double seconds = 0.5;  // per window; the library, and then every other tile, take turns with the chosen
    const std::span<const GemmTile> tiles = by_wgmma() ? std::span<const GemmTile>(gemm_tiles) : mma_tiles;
    std::vector<double> shares;
    std::vector<double> shares_chained;
    const auto products = of_larger ? std::span<const ProductOfModel>(products_of_larger) : products_of_models;
    for (const ProductOfModel& product : products) {
        const GemmShape& shape = product.shape;
        fmt::print("{}: {} x {} x {}, with bias{}{}{}\n", product.name, shape.rows, shape.columns, shape.depth,
                   shape.activation == Activation::gelu_tanh ? ", GELU"
                   : shape.activation == Activation::relu    ? ", ReLU"
                                                             : "",
                   product.residual ? " and residual" : "",
                   !by_wgmma()          ? ""
                   : product.normalises ? "; Gemm: and scales of rows"
                   : product.residual   ? "; Gemm: and sums of rows"
                                        : "");
        const ProductOperands operands(product);
        ladder::Windows windows(operands.sets(), stream);
        const ladder::CublasPeer library({.m = shape.rows,
                                          .n = shape.columns,
                                          .k = shape.depth,
                                          .precision = Precision::bf16,
                                          .bias = true,
                                          .activation = shape.activation,
                                          .residual = product.residual},
                                         operands.of_library(0), stream);
        const auto of_library = [&](std::size_t set, cudaStream_t s) { library.enqueue(operands.of_library(set), s); };
        const std::vector<Gemm> chosen = make_products(product, operands, {});
        const std::vector<Gemm> chained = make_products(product, operands, {.chained = true});
        const std::vector<ladder::Window> apart = windows.in_turn({enqueuing(chosen), of_library}, seconds);
        const std::vector<ladder::Window> in_chain = windows.in_turn({enqueuing(chained), of_library}, seconds);
        print_window(fmt::format("cuBLASLt, the best of {}", library.tried()), apart[1], product.flop());
        const double share = print_beside(describe(chosen[0].tile()), apart, "cuBLASLt", product.flop());
        const double share_chained = print_beside("chained, as models launch it", in_chain, "cuBLASLt", product.flop());
        if (product.name.starts_with("G")) {
            shares.push_back(share);
            shares_chained.push_back(share_chained);
        }
        for (std::size_t tile = 0; tile < tiles.size(); ++tile) {
            if (tile != chosen[0].tile_number()) {
                const std::vector<Gemm> other = make_products(product, operands, {.tile = tile});
                print_beside("  " + describe(tiles[tile]),
                             windows.in_turn({enqueuing(other), enqueuing(chosen)}, seconds), "the chosen",
                             product.flop());
            }
        }
    }
    if (!of_larger) {
        shares_chained.push_back(time_head(seconds, stream));
    }
    fmt::print("geometric mean of {} products of {}: {:.1f} % of cuBLASLt", shares.size(),
               of_larger ? "larger GPT-2s" : "GRU and GPT-2", 100 * geometric_mean(shares));
    fmt::print("; of {} chained, as models launch them, {:.1f} %\n", shares_chained.size(),
               100 * geometric_mean(shares_chained));
}

}  // namespace sluice::bench
