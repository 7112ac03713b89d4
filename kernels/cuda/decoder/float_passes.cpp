#include <memory>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "kernels/cuda/decoder/activations.hpp"
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
          rule_(rule_of(setup.sampling)),
          weights_(setup.weights),
          memory_(setup.memory),
          most_rows_(setup.sizes.rows),
          at_(setup),
          attention_(at_.attention(setup.shape, setup.sampling)),
          no_bias_(setup.device.allocate(MemorySpace::device, at_.strides.vocabulary * sizeof(float))) {
        if (on_tensor_cores()) {
            for (std::uint32_t number = 0; number < shape_.layers; ++number) {
                const WeightsOnDevice::Block& block = weights_.blocks[number];
                products_.push_back(product_of(to_queries(), block.attention));
                products_.push_back(product_of(projection(number), block.projection));
                products_.push_back(product_of(expansion(number), block.expansion));
                products_.push_back(product_of(contraction(number), block.contraction));
            }
            products_.push_back(product_of_head());
        }
    }

    void enqueue(cudaStream_t stream, const PassWatch& watch) override {
        watch("embedding");
        enqueue_embedding(memory_, precision_,
                          {.tokens = data_of(weights_.tokens),
                           .positions = floats_of(weights_.positions),
                           .sums = at_.sums.bytes().data(),
                           .width = shape_.width,
                           .stride = at_.strides.width,
                           .token_stride = at_.strides.vocabulary,
                           .position_stride = shape_.rotary ? 0 : shape_.width},
                          stream);
        for (std::uint32_t number = 0; number < shape_.layers; ++number) {
            enqueue_layer(number, stream, watch);
        }
        watch("normalisation");
        enqueue_norm(precision_, norm(weights_.last_norm, at_.wanted, true), stream);
        watch("head");
        if (on_tensor_cores()) {
            products_.back().enqueue(stream);
        } else {
            ordered::enqueue_product({.in = floats_of(at_.normed),
                                      .weights = floats_of(weights_.head()),
                                      .bias = floats_of(no_bias_),
                                      .out = floats_of(at_.scores),
                                      .most_rows = at_.padded_slots,
                                      .columns = at_.strides.vocabulary,
                                      .depth = at_.strides.width,
                                      .rows = &memory_.batch->entries},
                                     stream);
        }
        watch("choice");
        if (at_.bests_only) {
            enqueue_take_best(memory_, rule_, at_.scores.as<TileBest>().data(), products_.back().best_tiles(), stream);
        } else {
            enqueue_choose(memory_, rule_, floats_of(at_.scores), shape_.vocabulary, at_.strides.vocabulary, stream);
        }
    }

private:
    /// False: the host's bits.
    [[nodiscard]] bool on_tensor_cores() const { return precision_ != Precision::fp32; }
    [[nodiscard]] bool is_last(std::uint32_t number) const { return number + 1 == shape_.layers; }
    [[nodiscard]] std::uint32_t most_rows(bool wanted) const { return wanted ? at_.padded_slots : most_rows_; }
    [[nodiscard]] const std::uint32_t* rows(bool wanted) const {
        return wanted ? &memory_.batch->entries : &memory_.batch->rows;
    }

    [[nodiscard]] Step to_queries() const {
        return {.in = at_.normed,
                .in_stride = at_.strides.width,
                .inputs = shape_.width,
                .out = at_.queries,
                .out_stride = at_.strides.queries,
                .outputs = shape_.attention_width(),
                .most_rows = most_rows(false),
                .rows = rows(false)};
    }
    [[nodiscard]] Step projection(std::uint32_t number) const {
        const bool last = is_last(number);
        const Buffer& sums = last ? at_.wanted : at_.sums;
        return {.in = at_.mixed,
                .in_stride = at_.strides.mixed,
                .inputs = shape_.query_width(),
                .out = sums,
                .out_stride = at_.strides.width,
                .outputs = shape_.width,
                .residual = &sums,
                .most_rows = most_rows(last),
                .rows = rows(last)};
    }
    [[nodiscard]] Step expansion(std::uint32_t number) const {
        const bool last = is_last(number);
        const bool activates = activates_in_product(shape_);
        return {.in = at_.normed,
                .in_stride = at_.strides.width,
                .inputs = shape_.width,
                .out = activates ? at_.inner : at_.expanded,
                .out_stride = activates ? at_.strides.inner : at_.strides.expanded,
                .outputs = shape_.expanded_width(),
                .gelu = activates,
                .feeds_product = activates,
                .most_rows = most_rows(last),
                .rows = rows(last)};
    }
    [[nodiscard]] Step contraction(std::uint32_t number) const {
        const bool last = is_last(number);
        const Buffer& sums = last ? at_.wanted : at_.sums;
        return {.in = at_.inner,
                .in_stride = at_.strides.inner,
                .inputs = shape_.inner,
                .out = sums,
                .out_stride = at_.strides.width,
                .outputs = shape_.width,
                .residual = &sums,
                .most_rows = most_rows(last),
                .rows = rows(last)};
    }

    [[nodiscard]] FloatProduct product_of(const Step& step, const WeightsOnDevice::Linear& linear) const {
        return {{.rows = step.most_rows,
                 .columns = step.outputs,
                 .depth = step.inputs,
                 .activation = step.gelu ? Activation::gelu_tanh : Activation::none,
                 .rounds_to_tf32 = step.feeds_product && precision_ == Precision::tf32,
                 .in_half_parts = step.feeds_product && precision_ == Precision::tf32x3},
                precision_,
                {.a = data_of(step.in),
                 .b = data_of(linear.weights),
                 .bias = floats_of(linear.bias),
                 .residual = step.residual == nullptr ? nullptr : floats_of(*step.residual),
                 .out = floats_of(step.out),
                 .stride = step.out_stride,
                 .bests = nullptr,
                 .active = step.rows},
                instructions_};
    }
    [[nodiscard]] FloatProduct product_of_head() const {
        return {{.rows = at_.padded_slots, .columns = shape_.vocabulary, .depth = shape_.width},
                precision_,
                {.a = data_of(at_.normed),
                 .b = data_of(weights_.head()),
                 .bias = nullptr,
                 .residual = nullptr,
                 .out = at_.bests_only ? nullptr : floats_of(at_.scores),
                 .stride = at_.strides.vocabulary,
                 .bests = at_.bests_only ? at_.scores.as<TileBest>().data() : nullptr,
                 .active = rows(true)},
                instructions_};
    }

    /// The `kind`-th product of a layer.
    void multiply(const Step& step, const WeightsOnDevice::Linear& linear, std::uint32_t number, std::uint32_t kind,
                  cudaStream_t stream) {
        if (on_tensor_cores()) {
            constexpr std::uint32_t products_of_layer = 4;
            products_[number * products_of_layer + kind].enqueue(stream);
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
                                  .gelu = step.gelu,
                                  .sums = adds ? floats_of(step.out) : nullptr},
                                 stream);
    }

    void enqueue_layer(std::uint32_t number, cudaStream_t stream, const PassWatch& watch) {
        const WeightsOnDevice::Block& block = weights_.blocks[number];
        const bool last = is_last(number);
        watch("normalisation");
        enqueue_norm(precision_, norm(block.attention_norm, at_.sums, false), stream);
        watch("queries, keys, values");
        multiply(to_queries(), block.attention, number, 0, stream);
        if (shape_.rotary) {
            watch("rotary positions");
            enqueue_rotation(memory_, precision_, at_.rotation(shape_, weights_), stream);
        }
        attend(number, stream, watch);
        if (last) {
            watch("wanted rows");
            enqueue_gather(memory_, precision_, data_of(at_.sums), at_.wanted.bytes().data(), at_.strides.width,
                           stream);
        }
        watch("projection");
        multiply(projection(number), block.projection, number, 1, stream);
        watch("normalisation");
        enqueue_norm(precision_, norm(block.inner_norm, last ? at_.wanted : at_.sums, last), stream);
        watch("expansion");
        multiply(expansion(number), block.expansion, number, 2, stream);
        if (!activates_in_product(shape_)) {
            watch("activation");
            enqueue_inner_activation(
                precision_, at_.inner_activation(shape_, last ? memory_.slots : memory_.most_rows, rows(last)), stream);
        }
        watch("contraction");
        multiply(contraction(number), block.contraction, number, 3, stream);
    }

    void attend(std::uint32_t number, cudaStream_t stream, const PassWatch& watch) {
        const bool last = is_last(number);
        const bool has_quick_kernels = has_tensor_heads(attention_.head_size);
        if (last || !has_quick_kernels) {
            watch("into the cache");
            enqueue_cache_write(memory_, precision_, at_.keys(shape_, precision_), at_.strides.queries, at_.cache,
                                number, stream);
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

    [[nodiscard]] Norm norm(const WeightsOnDevice::Norm& of, const Buffer& from, bool wanted) const {
        return {.from = data_of(from),
                .to = at_.normed.bytes().data(),
                .gamma = floats_of(of.gamma),
                .beta = floats_of(of.beta),
                .epsilon = shape_.norm_epsilon,
                .width = shape_.width,
                .stride = at_.strides.width,
                .most_rows = wanted ? memory_.slots : memory_.most_rows,
                .rows = rows(wanted),
                .is_rms = shape_.normalisation == DecoderNormalisation::rms};
    }

    DecoderShape shape_;
    Precision precision_;
    MatrixInstructions instructions_;
    Rule rule_;
    const WeightsOnDevice& weights_;
    Memory memory_;
    std::uint32_t most_rows_;
    Activations at_;
    Attention attention_;
    Buffer no_bias_;
    std::vector<FloatProduct> products_;  // on the tensor cores: four a layer, then the head
};

}  // namespace

std::unique_ptr<Passes> make_float_passes(const PassSetup& setup) {
    return std::make_unique<FloatPasses>(setup);
}

}  // namespace sluice::decoder
