#include <algorithm>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "kernels/cuda/decoder/common_steps.hpp"
#include "kernels/cuda/decoder/narrow_attention.hpp"
#include "kernels/cuda/decoder/passes.hpp"
#include "kernels/cuda/decoder/prompts/attending_product.hpp"
#include "kernels/cuda/gemm/fp8_gemm.hpp"
#include "kernels/cuda/gemm/gemm.hpp"

namespace sluice::decoder {
namespace {

struct Fp8Layer {
    std::variant<Fp8Gemm, AttendingProduct> attention;
    Gemm projection;
    Fp8Gemm expansion;
    std::variant<Fp8Gemm, Gemm> contraction;
};

/// Normalised rows are in e4m3, and what the expansion makes, unless that has gates. Projections, which are a twelfth
/// of a GPT-2's products, and the head, whose scores may differ by little, are in bf16.
class Fp8Passes final : public Passes {
public:
    explicit Fp8Passes(const PassSetup& setup)
        : shape_(setup.shape),
          weights_(setup.weights),
          memory_(setup.memory),
          common_(setup),
          at_(common_.activations()),
          attention_(setup, common_),
          head_(common_.head(MatrixInstructions::wgmma)) {
        for (std::uint32_t size = 0; size < sizes_up_to(setup.sizes.rows); ++size) {
            std::vector<Fp8Layer>& layers = layers_.emplace_back();
            for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
                layers.push_back(make_layer(layer, std::min(setup.sizes.rows, most_rows_of_size(size))));
            }
        }
    }

    void enqueue(cudaStream_t stream, std::uint32_t size, const PassWatch& watch) override {
        common_.embed(0, nullptr, stream, watch);
        for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
            enqueue_layer(layers_[size][layer], layer, stream, watch);
        }
        common_.normalise(weights_.last_norm, true, stream, watch);
        watch("head");
        head_.enqueue(stream);
        common_.choose(head_.best_tiles(), stream, watch);
    }

private:
    [[nodiscard]] static GemmOptions chained() { return {.chained = true, .instructions = MatrixInstructions::wgmma}; }

    [[nodiscard]] Fp8Layer make_layer(std::uint32_t number, std::uint32_t rows) const {
        const WeightsOnDevice::Block& block = weights_.blocks[number];
        const bool last = common_.is_last(number);
        const bool codes = contracts_codes(shape_, Precision::fp8);
        const std::uint32_t most = last ? std::min(rows, at_.padded_slots) : rows;
        const GemmShape expansion{.rows = most,
                                  .columns = shape_.expanded_width(),
                                  .depth = shape_.width,
                                  .activation = activation_of(shape_.activation),
                                  .gated = shape_.gated};
        Fp8GemmMemory expanded = of_codes(block.expansion, at_.codes, at_.inner, last);
        expanded.code_scale = codes ? block.expansion.result_scale() : nullptr;
        return {.attention = to_queries(block, number, rows),
                .projection = onto_sums(block.projection, shape_.query_width(), at_.mixed, most, last),
                .expansion = Fp8Gemm(expansion, Fp8Sums::tensor, expanded, chained()),
                .contraction = contraction_of(block, most, last)};
    }

    [[nodiscard]] std::variant<Fp8Gemm, AttendingProduct> to_queries(const WeightsOnDevice::Block& block,
                                                                     std::uint32_t number, std::uint32_t rows) const {
        const GemmShape shape{.rows = rows, .columns = shape_.attention_width(), .depth = shape_.width};
        if (memory_.prompt_pages != nullptr) {
            return AttendingProduct(memory_, Precision::fp8, attention_.layer(number), shape,
                                    {.a = data_of(at_.codes),
                                     .b = data_of(block.attention.weights),
                                     .bias = floats_of(block.attention.bias),
                                     .residual = nullptr,
                                     .out = nullptr,
                                     .active = common_.rows(false)},
                                    block.attention.sum_scale());
        }
        return Fp8Gemm(shape, Fp8Sums::tensor, of_codes(block.attention, at_.codes, at_.queries, false), chained());
    }

    [[nodiscard]] std::variant<Fp8Gemm, Gemm> contraction_of(const WeightsOnDevice::Block& block, std::uint32_t rows,
                                                             bool last) const {
        if (!contracts_codes(shape_, Precision::fp8)) {
            return onto_sums(block.contraction, shape_.inner, at_.inner, rows, last);
        }
        Fp8GemmMemory memory = of_codes(block.contraction, at_.inner, common_.sums(last), last);
        memory.residual = data_of(common_.sums(last));
        return Fp8Gemm({.rows = rows, .columns = shape_.width, .depth = shape_.inner}, Fp8Sums::tensor, memory,
                       chained());
    }

    /// A product in bf16, added to the residual stream.
    [[nodiscard]] Gemm onto_sums(const WeightsOnDevice::Linear& linear, std::uint32_t depth, const Buffer& in,
                                 std::uint32_t rows, bool last) const {
        const Buffer& sums = common_.sums(last);
        return Gemm({.rows = rows, .columns = shape_.width, .depth = depth}, Precision::bf16,
                    {.a = data_of(in),
                     .b = data_of(linear.weights),
                     .bias = floats_of(linear.bias),
                     .residual = data_of(sums),
                     .out = sums.bytes().data(),
                     .active = common_.rows(last)},
                    chained());
    }

    [[nodiscard]] Fp8GemmMemory of_codes(const WeightsOnDevice::Linear& linear, const Buffer& in, const Buffer& out,
                                         bool last) const {
        return {.a = data_of(in),
                .b = data_of(linear.weights),
                .scale = linear.sum_scale(),
                .bias = floats_of(linear.bias),
                .residual = nullptr,
                .out = out.bytes().data(),
                .active = common_.rows(last)};
    }

    void enqueue_layer(const Fp8Layer& layer, std::uint32_t number, cudaStream_t stream, const PassWatch& watch) {
        const auto enqueue = [&](const auto& product) { product.enqueue(stream); };
        normalise(false, stream, watch);
        watch("queries, keys, values");
        std::visit(enqueue, layer.attention);
        attention_.enqueue(number, stream, watch);
        watch("projection");
        layer.projection.enqueue(stream);
        normalise(common_.is_last(number), stream, watch);
        watch("expansion");
        layer.expansion.enqueue(stream);
        watch("contraction");
        std::visit(enqueue, layer.contraction);
    }

    /// From the residual stream to codes.
    void normalise(bool wanted, cudaStream_t stream, const PassWatch& watch) const {
        watch("normalisation");
        enqueue_norm_codes({.from = data_of(common_.sums(wanted)),
                            .to = at_.codes.bytes().data(),
                            .epsilon = shape_.norm_epsilon,
                            .scale = normed_code_scale(shape_.width),
                            .width = shape_.width,
                            .most_rows = common_.most_rows(wanted),
                            .rows = common_.rows(wanted),
                            .is_rms = common_.is_rms()},
                           stream);
    }

    DecoderShape shape_;
    const WeightsOnDevice& weights_;
    Memory memory_;
    CommonSteps common_;
    const Activations& at_;  // common_'s
    NarrowAttention attention_;
    std::vector<std::vector<Fp8Layer>> layers_;  // by size
    FloatProduct head_;
};

}  // namespace

std::unique_ptr<Passes> make_fp8_passes(const PassSetup& setup) {
    return std::make_unique<Fp8Passes>(setup);
}

}  // namespace sluice::decoder
