#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "kernels/cuda/decoder/common_steps.hpp"
#include "kernels/cuda/decoder/narrow_attention.hpp"
#include "kernels/cuda/decoder/passes.hpp"
#include "kernels/cuda/decoder/prompts/attending_product.hpp"
#include "kernels/cuda/gemm/gemm.hpp"

namespace sluice::decoder {
namespace {

struct NarrowLayer {
    std::variant<Gemm, AttendingProduct> attention;
    Gemm projection;
    Gemm expansion;
    Gemm contraction;
};

class NarrowPasses final : public Passes {
public:
    explicit NarrowPasses(const PassSetup& setup)
        : shape_(setup.shape),
          precision_(setup.precision),
          instructions_(as_cuda(setup.device).instructions()),
          weights_(setup.weights),
          memory_(setup.memory),
          sums_rows_(instructions_ == MatrixInstructions::wgmma && setup.shape.width % summed_values == 0),
          common_(setup),
          at_(common_.activations()),
          attention_(setup, common_),
          head_(common_.head(instructions_)) {
        for (std::uint32_t size = 0; size < sizes_up_to(setup.sizes.rows); ++size) {
            std::vector<NarrowLayer>& layers = layers_.emplace_back();
            for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
                layers.push_back(make_layer(layer, std::min(setup.sizes.rows, most_rows_of_size(size))));
            }
        }
    }

    void enqueue(cudaStream_t stream, std::uint32_t size, const PassWatch& watch) override {
        common_.embed(0, row_sums(), stream, watch);
        for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
            enqueue_layer(layers_[size][layer], layer, stream, watch);
        }
        common_.normalise(weights_.last_norm, true, stream, watch);
        watch("head");
        head_.enqueue(stream);
        common_.choose(head_.best_tiles(), stream, watch);
    }

private:
    [[nodiscard]] NarrowLayer make_layer(std::uint32_t number, std::uint32_t rows) const {
        const WeightsOnDevice::Block& block = weights_.blocks[number];
        const bool last = common_.is_last(number);
        const Buffer& sums = common_.sums(last);
        const std::uint32_t most = last ? std::min(rows, at_.padded_slots) : rows;
        const std::uint32_t* const active = common_.rows(last);
        const std::uint32_t width = shape_.width;
        std::optional<std::size_t> previous_tile;
        const auto product = [&](const GemmShape& shape, const WeightsOnDevice::Linear& linear, GemmMemory memory) {
            memory.b = data_of(linear.weights);
            memory.bias = floats_of(linear.bias);
            const Gemm gemm(shape, precision_, memory,
                            {.chained = true, .previous_tile = previous_tile, .instructions = instructions_});
            previous_tile = gemm.tile_number();
            return gemm;
        };
        const auto onto_sums = [&](const WeightsOnDevice::Linear& linear, std::uint32_t depth, const Buffer& in) {
            return product({.rows = most, .columns = width, .depth = depth}, linear,
                           {.a = data_of(in),
                            .b = nullptr,
                            .bias = nullptr,
                            .residual = data_of(sums),
                            .out = sums.bytes().data(),
                            .active = active,
                            .out_sums = row_sums()});
        };
        const auto of_normed = [&](const Buffer& in, const Buffer& out, const std::uint32_t* count) {
            return GemmMemory{.a = data_of(in),
                              .b = nullptr,
                              .bias = nullptr,
                              .residual = nullptr,
                              .out = out.bytes().data(),
                              .active = count,
                              .row_scales = sums_rows_ ? nullptr : floats_of(at_.row_sums),
                              .norm = {.sums = row_sums(), .epsilon = shape_.norm_epsilon, .is_rms = common_.is_rms()}};
        };
        const auto to_queries = [&]() -> std::variant<Gemm, AttendingProduct> {
            GemmMemory memory = of_normed(at_.sums, at_.queries, common_.rows(false));
            const GemmShape shape{.rows = rows, .columns = shape_.attention_width(), .depth = width};
            if (memory_.prompt_pages == nullptr) {
                return product(shape, block.attention, memory);
            }
            memory.b = data_of(block.attention.weights);
            memory.bias = floats_of(block.attention.bias);
            return AttendingProduct(memory_, precision_, attention_.layer(number), shape, memory);
        };
        const bool activates = at_.activated_in_product;
        return {.attention = to_queries(),
                .projection = onto_sums(block.projection, shape_.query_width(), at_.mixed),
                .expansion = product({.rows = most,
                                      .columns = shape_.expanded_width(),
                                      .depth = width,
                                      .activation = activates ? activation_of(shape_.activation) : Activation::none,
                                      .gated = activates && shape_.gated},
                                     block.expansion, of_normed(sums, activates ? at_.inner : at_.expanded, active)),
                .contraction = onto_sums(block.contraction, shape_.inner, at_.inner)};
    }

    void enqueue_layer(const NarrowLayer& layer, std::uint32_t number, cudaStream_t stream, const PassWatch& watch) {
        const bool last = common_.is_last(number);
        const Buffer& sums = common_.sums(last);
        find_scales(at_.sums, false, stream, watch);
        watch("queries, keys, values");
        std::visit([&](const auto& product) { product.enqueue(stream); }, layer.attention);
        attention_.enqueue(number, stream, watch);
        watch("projection");
        layer.projection.enqueue(stream);
        find_scales(sums, last, stream, watch);
        watch("expansion");
        layer.expansion.enqueue(stream);
        common_.activate(last, stream, watch);
        watch("contraction");
        layer.contraction.enqueue(stream);
    }

    [[nodiscard]] RowSums* row_sums() const { return sums_rows_ ? at_.row_sums.as<RowSums>().data() : nullptr; }

    /// Computes the scales of the next product's rows, all or those that want scores, unless their sums are known.
    void find_scales(const Buffer& sums, bool wanted, cudaStream_t stream, const PassWatch& watch) {
        if (sums_rows_) {
            return;
        }
        watch("normalisation");
        enqueue_norm_scales(precision_,
                            {.from = data_of(sums),
                             .to = floats_of(at_.row_sums),
                             .epsilon = shape_.norm_epsilon,
                             .width = shape_.width,
                             .stride = at_.strides.width,
                             .most_rows = common_.most_rows(wanted),
                             .rows = common_.rows(wanted),
                             .is_rms = common_.is_rms()},
                            stream);
    }

    DecoderShape shape_;
    Precision precision_;
    MatrixInstructions instructions_;
    const WeightsOnDevice& weights_;
    Memory memory_;
    bool sums_rows_;  // the products sum their rows up, and scale them by the sums
    CommonSteps common_;
    const Activations& at_;  // common_'s
    NarrowAttention attention_;
    std::vector<std::vector<NarrowLayer>> layers_;  // by size
    FloatProduct head_;
};

}  // namespace

std::unique_ptr<Passes> make_narrow_passes(const PassSetup& setup) {
    return std::make_unique<NarrowPasses>(setup);
}

}  // namespace sluice::decoder
