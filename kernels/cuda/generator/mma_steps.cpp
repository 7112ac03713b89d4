#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "kernels/cuda/decoder/product/float_product.hpp"
#include "kernels/cuda/generator/mma_gates.hpp"
#include "kernels/cuda/generator/step_states.hpp"
#include "kernels/cuda/generator/steps.hpp"
#include "kernels/cuda/generator/table.hpp"

namespace sluice::generator {
namespace {

/// Steps by mma.sync: products into fp32, then elementwise kernels.
class MmaSteps final : public Steps {
public:
    MmaSteps(Device& device, const PaddedShape& shape, Precision precision, const WeightsOnDevice& weights,
             std::uint32_t most_rows, const std::uint32_t* rows)
        : shape_(shape),
          precision_(precision),
          weights_(weights),
          value_bytes_(part_bytes_of_generator(precision)),
          parts_(parts_of_generator(precision)),
          most_rows_(most_rows),
          rows_(rows),
          table_(device, shape, precision, weights),
          states_(device, shape.layers * parts_, most_rows, shape.hidden * value_bytes_),
          from_input_(device.allocate(MemorySpace::device, shape.layers > 1 ? sum_bytes(3 * shape.hidden) : 0)),
          from_state_(device.allocate(MemorySpace::device, sum_bytes(std::max(3 * shape.hidden, gru_symbols)))) {
        for (const std::uint32_t turn : {0U, 1U}) {
            const StateRows& before = states_[turn];
            const StateRows& after = states_[1 - turn];
            for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
                Products products;
                if (layer != 0) {
                    add_products(products, after, layer - 1, weights.layers[layer].input, 3 * shape.hidden,
                                 from_input_);
                }
                add_products(products, before, layer, weights.layers[layer].hidden, 3 * shape.hidden, from_state_);
                products_[turn].push_back(std::move(products));
            }
            Products scores;
            add_products(scores, after, shape.layers - 1, weights.linear, gru_symbols, from_state_);
            products_[turn].push_back(std::move(scores));
        }
    }

    void enqueue(const Memory& memory, std::uint32_t turn, cudaStream_t stream) override {
        expects(&memory.batch->active_rows == rows_, "generator: steps of another batch");
        const StateRows& before = states_[turn];
        const StateRows& after = states_[1 - turn];
        for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
            multiply(products_[turn][layer], stream);
            enqueue_mma_gates(precision_,
                              {.from_state = from_state_.as<float>().data(),
                               .from_input = layer == 0 ? nullptr : from_input_.as<float>().data(),
                               .bias = weights_.layers[layer].hidden_bias.as<float>().data(),
                               .table = table_.data(),
                               .table_stride = shape_.gate_columns,
                               .symbols = memory.symbols,
                               .before = before.at(layer * parts_, 0),
                               .after = after.at(layer * parts_, 0),
                               .part_values = std::size_t{most_rows_} * shape_.hidden,
                               .sum_scale = sum_scale_of_generator(precision_),
                               .hidden = shape_.hidden,
                               .most_rows = most_rows_,
                               .rows = rows_},
                              stream);
        }
        multiply(products_[turn].back(), stream);
        enqueue_mma_scores({.sums = from_state_.as<float>().data(),
                            .bias = weights_.linear_bias.as<float>().data(),
                            .scores = memory.scores,
                            .sum_scale = sum_scale_of_generator(precision_),
                            .most_rows = most_rows_,
                            .rows = rows_},
                           stream);
    }

    [[nodiscard]] const StateRows& states(std::uint32_t turn) const override { return states_[turn]; }

private:
    using Products = std::vector<decoder::FloatProduct>;  // in order

    [[nodiscard]] std::size_t sum_bytes(std::uint32_t columns) const {
        return std::size_t{most_rows_} * columns * sizeof(float);
    }

    /// Adds the products of states in a layer with weights, part by part.
    void add_products(Products& to, const StateRows& states, std::uint32_t layer, const Buffer& weights,
                      std::uint32_t outputs, const Buffer& sums) const {
        const std::size_t part_bytes = std::size_t{outputs} * shape_.hidden * value_bytes_;
        float* const out = sums.as<float>().data();
        const std::size_t first = to.size();
        for_each_product_of_parts(precision_, [&](std::uint32_t of_state, std::uint32_t of_weight) {
            to.emplace_back(decoder::FloatProductShape{.rows = most_rows_, .columns = outputs, .depth = shape_.hidden},
                            part_format_of_generator(precision_),
                            decoder::FloatProductMemory{.a = states.at(layer * parts_ + of_state, 0),
                                                        .b = weights.bytes().data() + of_weight * part_bytes,
                                                        .bias = nullptr,
                                                        .residual = to.size() == first ? nullptr : out,
                                                        .out = out,
                                                        .stride = outputs,
                                                        .bests = nullptr,
                                                        .active = rows_},
                            MatrixInstructions::mma);
        });
    }

    static void multiply(const Products& products, cudaStream_t stream) {
        for (const decoder::FloatProduct& product : products) {
            product.enqueue(stream);
        }
    }

    PaddedShape shape_;
    Precision precision_;
    const WeightsOnDevice& weights_;
    std::uint32_t value_bytes_;
    std::uint32_t parts_;
    std::uint32_t most_rows_;
    const std::uint32_t* rows_;
    InputTable table_;
    StepStates states_;
    Buffer from_input_;                                // (rows, 3 hidden) fp32
    Buffer from_state_;                                // (rows, 3 hidden) fp32; also the sums of scores, (rows, 256)
    std::array<std::vector<Products>, 2> products_{};  // per layer, then of the scores
};

}  // namespace

std::unique_ptr<Steps> make_mma_steps(Device& device, const GruShape& shape, Precision precision,
                                      const WeightsOnDevice& weights, std::uint32_t most_rows,
                                      const std::uint32_t* rows) {
    return std::make_unique<MmaSteps>(device, padded(shape, precision), precision, weights, most_rows, rows);
}

}  // namespace sluice::generator
