#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "kernels/cuda/decoder/common_steps.hpp"
#include "kernels/cuda/decoder/passes.hpp"
#include "kernels/cuda/ordered/product.hpp"

namespace sluice::decoder {
namespace {

/// A linear layer of a pass.
struct Step {
    const Buffer& in;
    std::uint32_t in_stride;
    std::uint32_t inputs;
    const Buffer& out;
    std::uint32_t out_stride;
    std::uint32_t outputs;
    const Buffer* residual = nullptr;  ///< Null, or `out`, which is added to.
    bool gelu = false;                 ///< Applied to the result.
    bool feeds_product = false;        ///< `out` is a product's input.
    std::uint32_t most_rows;
    const std::uint32_t* rows;
};

class FloatPasses final : public Passes {
public:
    explicit FloatPasses(const PassSetup& setup)
        : shape_(setup.shape),
          precision_(setup.precision),
          instructions_(as_cuda(setup.device).instructions()),
          weights_(setup.weights),
          memory_(setup.memory),
          most_rows_(setup.sizes.rows),
          common_(setup),
          at_(common_.activations()),
          attention_(at_.attention(setup.shape, setup.sampling)),
          no_bias_(setup.device.allocate(MemorySpace::device, at_.strides.vocabulary * sizeof(float))) {
        for (std::uint32_t size = 0; on_tensor_cores() && size < sizes_up_to(most_rows_); ++size) {
            const std::uint32_t rows = most_rows_of_size(size);
            std::vector<FloatProduct>& products = products_.emplace_back();
            for (std::uint32_t number = 0; number < shape_.layers; ++number) {
                const WeightsOnDevice::Block& block = weights_.blocks[number];
                products.push_back(product_of(to_queries(), block.attention, rows));
                products.push_back(product_of(projection(number), block.projection, rows));
                products.push_back(product_of(expansion(number), block.expansion, rows));
                products.push_back(product_of(contraction(number), block.contraction, rows));
            }
        }
        if (on_tensor_cores()) {
            head_ = common_.head(instructions_);
        }
    }

    void enqueue(cudaStream_t stream, std::uint32_t size, const PassWatch& watch) override {
        common_.embed(at_.strides.vocabulary, nullptr, stream, watch);
        for (std::uint32_t number = 0; number < shape_.layers; ++number) {
            enqueue_layer(size, number, stream, watch);
        }
        common_.normalise(weights_.last_norm, true, stream, watch);
        watch("head");
        if (head_) {
            head_->enqueue(stream);
        } else {
            ordered::enqueue_product({.in = floats_of(at_.normed),
                                      .weights = floats_of(weights_.head()),
                                      .bias = floats_of(no_bias_),
                                      .out = floats_of(at_.scores),
                                      .most_rows = at_.padded_slots,
                                      .columns = at_.strides.vocabulary,
                                      .depth = at_.strides.width,
                                      .rows = &memory_.batch->entries,
                                      .tiles = ordered::Tiles::by_rows},
                                     stream);
        }
        common_.choose(head_ ? head_->best_tiles() : 0, stream, watch);
    }

private:
    /// False: the host's bits.
    [[nodiscard]] bool on_tensor_cores() const { return precision_ != Precision::fp32; }
    [[nodiscard]] std::uint32_t most_rows(bool wanted) const { return wanted ? at_.padded_slots : most_rows_; }

    [[nodiscard]] Step to_queries() const {
        return {.in = at_.normed,
                .in_stride = at_.strides.width,
                .inputs = shape_.width,
                .out = at_.queries,
                .out_stride = at_.strides.queries,
                .outputs = shape_.attention_width(),
                .most_rows = most_rows(false),
                .rows = common_.rows(false)};
    }
    [[nodiscard]] Step projection(std::uint32_t number) const {
        const bool last = common_.is_last(number);
        const Buffer& sums = common_.sums(last);
        return {.in = at_.mixed,
                .in_stride = at_.strides.mixed,
                .inputs = shape_.query_width(),
                .out = sums,
                .out_stride = at_.strides.width,
                .outputs = shape_.width,
                .residual = &sums,
                .most_rows = most_rows(last),
                .rows = common_.rows(last)};
    }
    [[nodiscard]] Step expansion(std::uint32_t number) const {
        const bool last = common_.is_last(number);
        const bool activates = at_.activated_in_product;
        return {.in = at_.normed,
                .in_stride = at_.strides.width,
                .inputs = shape_.width,
                .out = activates ? at_.inner : at_.expanded,
                .out_stride = activates ? at_.strides.inner : at_.strides.expanded,
                .outputs = shape_.expanded_width(),
                .gelu = activates,
                .feeds_product = activates,
                .most_rows = most_rows(last),
                .rows = common_.rows(last)};
    }
    [[nodiscard]] Step contraction(std::uint32_t number) const {
        const bool last = common_.is_last(number);
        const Buffer& sums = common_.sums(last);
        return {.in = at_.inner,
                .in_stride = at_.strides.inner,
                .inputs = shape_.inner,
                .out = sums,
                .out_stride = at_.strides.width,
                .outputs = shape_.width,
                .residual = &sums,
                .most_rows = most_rows(last),
                .rows = common_.rows(last)};
    }

    /// Of at most `most_rows` rows.
    [[nodiscard]] FloatProduct product_of(const Step& step, const WeightsOnDevice::Linear& linear,
                                          std::uint32_t most_rows) const {
        return {{.rows = std::min(step.most_rows, most_rows),
                 .columns = step.outputs,
                 .depth = step.inputs,
                 .activation = step.gelu ? Activation::gelu_tanh : Activation::none,
                 .rounds_to_tf32 = step.feeds_product && precision_ == Precision::tf32,
                 .in_parts = step.feeds_product && has_parts(precision_)},
                precision_,
                {.a = data_of(step.in),
                 .b = data_of(linear.weights),
                 .bias = floats_of(linear.bias),
                 .residual = step.residual == nullptr ? nullptr : floats_of(*step.residual),
                 .out = floats_of(step.out),
                 .stride = step.out_stride,
                 .active = step.rows},
                instructions_};
    }
    /// The `kind`-th product of a layer in a pass of that size.
    void multiply(const Step& step, const WeightsOnDevice::Linear& linear, std::uint32_t size, std::uint32_t number,
                  std::uint32_t kind, cudaStream_t stream) {
        if (on_tensor_cores()) {
            constexpr std::uint32_t products_of_layer = 4;
            products_[size][number * products_of_layer + kind].enqueue(stream);
            return;
        }
        const bool adds = step.residual != nullptr;
        ordered::enqueue_product({.in = floats_of(step.in),
                                  .weights = floats_of(linear.weights),
                                  .bias = floats_of(linear.bias),
                                  .out = floats_of(adds ? at_.normed : step.out),
                                  .most_rows = step.most_rows,
                                  .columns = step.out_stride,
                                  .depth = step.in_stride,
                                  .rows = step.rows,
                                  .tiles = ordered::Tiles::by_rows,
                                  .gelu = step.gelu,
                                  .sums = adds ? floats_of(step.out) : nullptr},
                                 stream);
    }

    void enqueue_layer(std::uint32_t size, std::uint32_t number, cudaStream_t stream, const PassWatch& watch) {
        const WeightsOnDevice::Block& block = weights_.blocks[number];
        const bool last = common_.is_last(number);
        common_.normalise(block.attention_norm, false, stream, watch);
        watch("queries, keys, values");
        multiply(to_queries(), block.attention, size, number, 0, stream);
        common_.rotate(stream, watch);
        attend(number, stream, watch);
        if (last) {
            common_.gather_wanted(stream, watch);
        }
        watch("projection");
        multiply(projection(number), block.projection, size, number, 1, stream);
        common_.normalise(block.inner_norm, last, stream, watch);
        watch("expansion");
        multiply(expansion(number), block.expansion, size, number, 2, stream);
        common_.activate(last, stream, watch);
        watch("contraction");
        multiply(contraction(number), block.contraction, size, number, 3, stream);
    }

    void attend(std::uint32_t number, cudaStream_t stream, const PassWatch& watch) {
        const bool last = common_.is_last(number);
        const bool has_quick_kernels = has_tensor_heads(attention_.head_size);
        if (last || !has_quick_kernels) {
            common_.write_cache(number, stream, watch);
        }
        if (!has_quick_kernels) {
            watch("attention");
            enqueue_attention_in_order(memory_, precision_, attention_, at_.cache, number,
                                       last ? Attending::wanted : Attending::all, stream);
            return;
        }
        const Attending attending = last ? Attending::wanted : Attending::continued;
        if (on_tensor_cores()) {
            if (!last) {
                watch("attention of prompts");
                enqueue_float_prompt_attention(memory_, precision_, attention_, at_.cache, number, stream);
            }
            watch("attention to the cache");
            enqueue_cached_attention(memory_, precision_, attention_, at_.cache, number, attending, stream);
        } else {
            if (!last) {
                watch("attention of prompts");
                enqueue_prompts_in_order(memory_, attention_, at_.cache, number, stream);
            }
            watch("attention to the cache");
            enqueue_cached_in_order(memory_, attention_, at_.cache, number, attending, stream);
        }
    }

    DecoderShape shape_;
    Precision precision_;
    MatrixInstructions instructions_;
    const WeightsOnDevice& weights_;
    Memory memory_;
    std::uint32_t most_rows_;
    CommonSteps common_;
    const Activations& at_;  // common_'s
    Attention attention_;
    Buffer no_bias_;
    // On the tensor cores:
    std::vector<std::vector<FloatProduct>> products_;  // by size: four a layer
    std::optional<FloatProduct> head_;
};

}  // namespace

std::unique_ptr<Passes> make_float_passes(const PassSetup& setup) {
    return std::make_unique<FloatPasses>(setup);
}

}  // namespace sluice::decoder
