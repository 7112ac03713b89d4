#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/activations.hpp"
#include "kernels/cuda/decoder/choice/choose.hpp"
#include "kernels/cuda/decoder/passes.hpp"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/decoder/rows/rows.hpp"

namespace sluice::decoder {

/// In a product.
[[nodiscard]] constexpr Activation activation_of(DecoderActivation activation) {
    switch (activation) {
        case DecoderActivation::gelu_tanh:
            return Activation::gelu_tanh;
        case DecoderActivation::gelu_erf:
            return Activation::gelu_erf;
        case DecoderActivation::silu:
            break;
    }
    return Activation::silu;
}

/// The activations of a pass, and the steps that are the same in all precisions, but for products and attention. From
/// the last layer's attention on only the rows that want scores are computed: those are `wanted`, other steps take all.
class CommonSteps {
public:
    explicit CommonSteps(const PassSetup& setup)
        : shape_(setup.shape),
          precision_(values_in(setup.precision)),
          rule_(rule_of(setup.sampling)),
          weights_(setup.weights),
          memory_(setup.memory),
          at_(setup) {}

    [[nodiscard]] const Activations& activations() const { return at_; }
    [[nodiscard]] bool is_last(std::uint32_t layer) const { return layer + 1 == shape_.layers; }
    [[nodiscard]] bool is_rms() const { return shape_.normalisation == DecoderNormalisation::rms; }
    /// The residual stream.
    [[nodiscard]] const Buffer& sums(bool wanted) const { return wanted ? at_.wanted : at_.sums; }
    /// How many rows there are, in device memory.
    [[nodiscard]] const std::uint32_t* rows(bool wanted) const {
        return wanted ? &memory_.batch->entries : &memory_.batch->rows;
    }
    /// How many rows there may be.
    [[nodiscard]] std::uint32_t most_rows(bool wanted) const { return wanted ? memory_.slots : memory_.most_rows; }

    void embed(std::uint32_t token_stride, RowSums* row_sums, cudaStream_t stream, const PassWatch& watch) const {
        watch("embedding");
        enqueue_embedding(memory_, precision_,
                          {.tokens = data_of(weights_.tokens),
                           .positions = floats_of(weights_.positions),
                           .sums = at_.sums.bytes().data(),
                           .width = shape_.width,
                           .stride = at_.strides.width,
                           .token_stride = token_stride,
                           .position_stride = shape_.rotary ? 0 : shape_.width,
                           .row_sums = row_sums},
                          stream);
    }

    /// From the residual stream to `normed`.
    void normalise(const WeightsOnDevice::Norm& norm, bool wanted, cudaStream_t stream, const PassWatch& watch) const {
        watch("normalisation");
        enqueue_norm(precision_,
                     {.from = data_of(sums(wanted)),
                      .to = at_.normed.bytes().data(),
                      .gamma = floats_of(norm.gamma),
                      .beta = floats_of(norm.beta),
                      .epsilon = shape_.norm_epsilon,
                      .width = shape_.width,
                      .stride = at_.strides.width,
                      .most_rows = most_rows(wanted),
                      .rows = rows(wanted),
                      .is_rms = is_rms()},
                     stream);
    }

    /// Turns queries and keys, if positions are rotary.
    void rotate(cudaStream_t stream, const PassWatch& watch) const {
        if (shape_.rotary) {
            watch("rotary positions");
            enqueue_rotation(memory_, precision_, at_.rotation(shape_, weights_), stream);
        }
    }

    void write_cache(std::uint32_t layer, cudaStream_t stream, const PassWatch& watch) const {
        watch("into the cache");
        enqueue_cache_write(memory_, precision_, at_.keys(shape_, precision_), at_.strides.queries, at_.cache, layer,
                            stream);
    }

    /// Copies the residual stream's rows that want scores.
    void gather_wanted(cudaStream_t stream, const PassWatch& watch) const {
        watch("wanted rows");
        enqueue_gather(memory_, precision_, data_of(at_.sums), at_.wanted.bytes().data(), at_.strides.width, stream);
    }

    /// From `expanded` to `inner`, unless the product has done it.
    void activate(bool wanted, cudaStream_t stream, const PassWatch& watch) const {
        if (!at_.activated_in_product) {
            watch("activation");
            enqueue_inner_activation(precision_, at_.inner_activation(shape_, most_rows(wanted), rows(wanted)), stream);
        }
    }

    /// The head's product, on tensor cores.
    [[nodiscard]] FloatProduct head(MatrixInstructions instructions) const {
        const KeptScores kept = at_.kept;
        const bool of_draws = kept == KeptScores::sums;
        return {{.rows = at_.padded_slots,
                 .columns = shape_.vocabulary,
                 .depth = shape_.width,
                 .temperature = of_draws ? rule_.temperature : temperature_of_sums(rule_)},
                precision_,
                {.a = data_of(at_.normed),
                 .b = data_of(weights_.head()),
                 .bias = nullptr,
                 .residual = nullptr,
                 .out = kept == KeptScores::all ? floats_of(at_.scores) : nullptr,
                 .stride = at_.strides.vocabulary,
                 .bests = kept == KeptScores::bests ? at_.scores.as<TileBest>().data() : nullptr,
                 .score_sums = of_draws ? at_.scores.as<ScoreSum>().data() : at_.sums_beside<ScoreSum>(),
                 .plain_sums = of_draws ? at_.sums_beside<float>() : nullptr,
                 .active = rows(true)},
                instructions};
    }

    /// Chooses tokens by what the head's product has kept, of bests `best_tiles` a row.
    void choose(std::uint32_t best_tiles, cudaStream_t stream, const PassWatch& watch) const {
        watch("choice");
        switch (at_.kept) {
            case KeptScores::all:
                enqueue_choose(memory_, rule_, at_.scored_rows(shape_.vocabulary), stream);
                break;
            case KeptScores::bests:
                enqueue_take_best(memory_, rule_,
                                  {.bests = at_.scores.as<TileBest>().data(),
                                   .tiles = best_tiles,
                                   .sums = at_.sums_beside<ScoreSum>(),
                                   .vocabulary = shape_.vocabulary},
                                  stream);
                break;
            case KeptScores::sums:
                enqueue_draw(memory_, rule_, precision_,
                             {.sums = at_.scores.as<ScoreSum>().data(), .plain_sums = at_.sums_beside<float>()},
                             {.rows = data_of(at_.normed),
                              .weights = data_of(weights_.head()),
                              .vocabulary = shape_.vocabulary,
                              .depth = shape_.width},
                             stream);
                break;
        }
    }

private:
    DecoderShape shape_;
    Precision precision_;
    Rule rule_;
    const WeightsOnDevice& weights_;
    Memory memory_;
    Activations at_;
};

}  // namespace sluice::decoder
