#include <memory>

#include "kernels/cuda/generator/gates.hpp"
#include "kernels/cuda/generator/step_states.hpp"
#include "kernels/cuda/generator/steps.hpp"
#include "kernels/cuda/generator/table.hpp"
#include "kernels/cuda/ordered/product.hpp"

namespace sluice::generator {
namespace {

const float* floats_of(const Buffer& buffer) {
    return buffer.as<float>().data();
}

/// fp32 without tensor cores: the host's results, bit for bit.
class SimtSteps final : public Steps {
public:
    SimtSteps(Device& device, const PaddedShape& shape, const WeightsOnDevice& weights, std::uint32_t most_rows)
        : shape_(shape),
          weights_(weights),
          most_rows_(most_rows),
          table_(device, shape, Precision::fp32, weights),
          states_(device, shape.layers, most_rows, shape.hidden * static_cast<std::uint32_t>(sizeof(float))),
          from_input_(device.allocate(MemorySpace::device, shape.layers > 1 ? gate_bytes() : 0)),
          from_state_(device.allocate(MemorySpace::device, gate_bytes())) {}

    void enqueue(const Memory& memory, std::uint32_t turn, cudaStream_t stream) override {
        const StateRows& before = states_[turn];
        const StateRows& after = states_[1 - turn];
        for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
            const WeightsOnDevice::Layer& weights = weights_.layers[layer];
            if (layer != 0) {
                multiply_gates(memory, after.at(layer - 1, 0), weights.input, weights.input_bias, from_input_, stream);
            }
            multiply_gates(memory, before.at(layer, 0), weights.hidden, weights.hidden_bias, from_state_, stream);
            enqueue_gates({.in = layer == 0 ? table_.floats() : floats_of(from_input_),
                           .symbols = layer == 0 ? memory.symbols : nullptr,
                           .own = floats_of(from_state_),
                           .before = reinterpret_cast<const float*>(before.at(layer, 0)),
                           .after = reinterpret_cast<float*>(after.at(layer, 0)),
                           .stride = shape_.gate_columns,
                           .hidden = shape_.hidden,
                           .most_rows = most_rows_,
                           .rows = &memory.batch->active_rows},
                          stream);
        }
        ordered::enqueue_product({.in = reinterpret_cast<const float*>(after.at(shape_.layers - 1, 0)),
                                  .weights = floats_of(weights_.linear),
                                  .bias = floats_of(weights_.linear_bias),
                                  .out = memory.scores,
                                  .most_rows = most_rows_,
                                  .columns = gru_symbols,
                                  .depth = shape_.hidden,
                                  .rows = &memory.batch->active_rows,
                                  .tiles = ordered::Tiles::by_rows},
                                 stream);
    }

    [[nodiscard]] const StateRows& states(std::uint32_t turn) const override { return states_[turn]; }

private:
    [[nodiscard]] std::size_t gate_bytes() const {
        return std::size_t{most_rows_} * shape_.gate_columns * sizeof(float);
    }

    void multiply_gates(const Memory& memory, const std::byte* in, const Buffer& matrix, const Buffer& bias,
                        const Buffer& out, cudaStream_t stream) const {
        ordered::enqueue_product({.in = reinterpret_cast<const float*>(in),
                                  .weights = floats_of(matrix),
                                  .bias = floats_of(bias),
                                  .out = out.as<float>().data(),
                                  .most_rows = most_rows_,
                                  .columns = shape_.gate_columns,
                                  .depth = shape_.hidden,
                                  .rows = &memory.batch->active_rows,
                                  .tiles = ordered::Tiles::by_rows},
                                 stream);
    }

    PaddedShape shape_;
    const WeightsOnDevice& weights_;
    std::uint32_t most_rows_;
    InputTable table_;
    StepStates states_;
    Buffer from_input_;  // (rows, gate_columns)
    Buffer from_state_;  // (rows, gate_columns)
};

}  // namespace

std::unique_ptr<Steps> make_simt_steps(Device& device, const GruShape& shape, const WeightsOnDevice& weights,
                                       std::uint32_t most_rows) {
    return std::make_unique<SimtSteps>(device, padded(shape, Precision::fp32), weights, most_rows);
}

}  // namespace sluice::generator
