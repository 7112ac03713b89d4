#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "kernels/cuda/clusters.hpp"
#include "kernels/cuda/generator/step_states.hpp"
#include "kernels/cuda/generator/steps.hpp"
#include "kernels/cuda/generator/table.hpp"
#include "kernels/cuda/generator/tensor_kernel.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/tensor_map.hpp"

namespace sluice::generator {
namespace {

static_assert(256 % (tensor_tile_rows * tensor_cluster_rows) == 0, "what tensor_sizes() says of rows");

TensorKernels kernels_for(Precision precision) {
    switch (precision) {
        case Precision::bf16:
            return bf16_step_kernels();
        case Precision::fp16:
            return fp16_step_kernels();
        case Precision::tf32:
            return tf32_step_kernels();
        case Precision::tf32x3:
            return two_part_step_kernels();
        default:
            throw ContractViolation("generator: a precision that the tensor cores do not have");
    }
}

/// Clusters of the kernel that the device runs at a time.
std::uint32_t step_clusters(TensorKernels::Function kernel, std::uint32_t threads, std::uint32_t shared_bytes) {
    return count_clusters(reinterpret_cast<const void*>(kernel),
                          {.blocks = tensor_cluster_rows, .threads = threads, .shared_bytes = shared_bytes});
}

class TensorSteps final : public Steps {
public:
    TensorSteps(Device& device, const PaddedShape& shape, Precision precision, const WeightsOnDevice& weights,
                std::uint32_t most_rows)
        : shape_(shape),
          precision_(precision),
          value_bytes_(part_bytes_of_generator(precision)),
          parts_(parts_of_generator(precision)),
          kernels_(kernels_for(precision)),
          most_rows_(most_rows),
          table_(device, shape, precision, weights),
          states_(device, shape.layers * parts_, most_rows, shape.hidden * value_bytes_) {
        const std::uint32_t gate_clusters =
            std::min(step_clusters(kernels_.first, kernels_.threads, kernels_.gates_shared_bytes),
                     step_clusters(kernels_.further, kernels_.threads, kernels_.gates_shared_bytes));
        const std::uint32_t score_clusters =
            step_clusters(kernels_.scores, kernels_.threads, kernels_.scores_shared_bytes);
        for (const std::uint32_t turn : {0U, 1U}) {
            for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
                launches_[turn].push_back(of_layer(turn, layer, weights, gate_clusters));
            }
            launches_[turn].push_back(of_scores(turn, weights, score_clusters));
        }
    }

    void enqueue(const Memory& memory, std::uint32_t turn, cudaStream_t stream) override {
        for (const Launch& one : launches_[turn]) {
            TensorArguments arguments = one.arguments;
            arguments.rows = &memory.batch->active_rows;
            arguments.symbols = memory.symbols;
            arguments.scores = memory.scores;
            launch(one.kernel, "generator's step",
                   {.blocks = one.clusters * tensor_cluster_rows,
                    .threads = kernels_.threads,
                    .shared_bytes = one.shared_bytes,
                    .chained = true},
                   stream, one.maps, arguments);
        }
    }

    [[nodiscard]] const StateRows& states(std::uint32_t turn) const override { return states_[turn]; }

private:
    struct Launch {
        TensorKernels::Function kernel;
        TensorMaps maps;
        TensorArguments arguments;
        std::uint32_t clusters;
        std::uint32_t shared_bytes;
    };

    [[nodiscard]] CUtensorMap map_of(const void* matrix, std::uint32_t rows, std::uint32_t box_rows) const {
        const TensorAxis axes[] = {{shape_.hidden, 0, tensor_step_bytes / value_bytes_},
                                   {rows, std::uint64_t{shape_.hidden} * value_bytes_, box_rows}};
        return make_tensor_map(part_format_of_generator(precision_), matrix, axes);
    }

    /// Adds the products of states in a layer with weights, part by part.
    void add_segments(Launch& to, const StateRows& states, std::uint32_t layer, const Buffer& weights,
                      std::uint32_t outputs, std::uint32_t tile_columns) const {
        const std::size_t part_bytes = std::size_t{outputs} * shape_.hidden * value_bytes_;
        for_each_product_of_parts(precision_, [&](std::uint32_t of_state, std::uint32_t of_weight) {
            const std::uint32_t segment = to.arguments.segments++;
            expects(segment < most_segments, "generator: too many products");
            to.maps.states[segment] = map_of(states.at(layer * parts_ + of_state, 0), most_rows_, tensor_tile_rows);
            to.maps.weights[segment] =
                map_of(weights.bytes().data() + of_weight * part_bytes, outputs, tile_columns / tensor_cluster_rows);
        });
    }

    [[nodiscard]] Launch of_layer(std::uint32_t turn, std::uint32_t layer, const WeightsOnDevice& weights,
                                  std::uint32_t clusters) const {
        const StateRows& before = states_[turn];
        const StateRows& after = states_[1 - turn];
        const std::uint32_t outputs = 3 * shape_.hidden;
        Launch result{};
        result.kernel = layer == 0 ? kernels_.first : kernels_.further;
        result.clusters = clusters;
        result.shared_bytes = kernels_.gates_shared_bytes;
        if (layer != 0) {
            add_segments(result, after, layer - 1, weights.layers[layer].input, outputs, tensor_gate_columns);
        }
        result.arguments.input_segments = result.arguments.segments;
        add_segments(result, before, layer, weights.layers[layer].hidden, outputs, tensor_gate_columns);
        result.arguments.steps = shape_.hidden * value_bytes_ / tensor_step_bytes;
        result.arguments.sum_scale = sum_scale_of_generator(precision_);
        result.arguments.tile_columns = shape_.hidden / tensor_units;
        result.arguments.hidden = shape_.hidden;
        result.arguments.bias = weights.layers[layer].hidden_bias.as<float>().data();
        result.arguments.table = table_.data();
        result.arguments.table_stride = shape_.gate_columns;
        result.arguments.before = before.at(layer * parts_, 0);
        result.arguments.after = after.at(layer * parts_, 0);
        result.arguments.part_values = std::size_t{most_rows_} * shape_.hidden;
        return result;
    }

    [[nodiscard]] Launch of_scores(std::uint32_t turn, const WeightsOnDevice& weights, std::uint32_t clusters) const {
        Launch result{};
        result.kernel = kernels_.scores;
        result.clusters = clusters;
        result.shared_bytes = kernels_.scores_shared_bytes;
        add_segments(result, states_[1 - turn], shape_.layers - 1, weights.linear, gru_symbols, tensor_score_columns);
        result.arguments.steps = shape_.hidden * value_bytes_ / tensor_step_bytes;
        result.arguments.sum_scale = sum_scale_of_generator(precision_);
        result.arguments.tile_columns = gru_symbols / tensor_score_columns;
        result.arguments.hidden = shape_.hidden;
        result.arguments.bias = weights.linear_bias.as<float>().data();
        return result;
    }

    PaddedShape shape_;
    Precision precision_;
    std::uint32_t value_bytes_;
    std::uint32_t parts_;
    TensorKernels kernels_;
    std::uint32_t most_rows_;
    InputTable table_;
    StepStates states_;
    std::array<std::vector<Launch>, 2> launches_{};
};

}  // namespace

std::unique_ptr<Steps> make_tensor_steps(Device& device, const GruShape& shape, Precision precision,
                                         const WeightsOnDevice& weights, std::uint32_t most_rows) {
    expects(as_cuda(device).instructions() == MatrixInstructions::wgmma, "generator: a device without wgmma");
    return std::make_unique<TensorSteps>(device, padded(shape, precision), precision, weights, most_rows);
}

}  // namespace sluice::generator
