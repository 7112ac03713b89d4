#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/device.hpp"
#include "kernels/cuda/generator/batch.hpp"
#include "kernels/cuda/generator/weights.hpp"

namespace sluice::generator {

/// How rows take a step in one precision. The states of before and after are apart.
class Steps {
public:
    Steps() = default;
    Steps(const Steps&) = delete;
    Steps& operator=(const Steps&) = delete;
    virtual ~Steps() = default;

    /// Enqueues a step of the first `batch->living` rows, whose symbols go in, from states(turn) to states(1 - turn),
    /// with the scores after it.
    virtual void enqueue(const Memory& memory, std::uint32_t turn, cudaStream_t stream) = 0;

    /// Of turn 0 or 1; zeros at first.
    [[nodiscard]] virtual const StateRows& states(std::uint32_t turn) const = 0;
};

/// What the steps of some precision need to know of rows before there are any.
struct StepSizes {
    std::uint32_t row_multiple;          ///< Of the rows that steps are made for.
    std::uint32_t most_rows;             ///< That take steps together: more gain nothing.
    std::uint32_t matrices;              ///< Of states.
    std::uint32_t row_bytes;             ///< Of a state.
    std::uint64_t work_bytes_a_row = 0;  ///< Device memory, without states and scores.
};

[[nodiscard]] StepSizes simt_sizes(const GruShape& shape);
[[nodiscard]] std::unique_ptr<Steps> make_simt_steps(Device& device, const GruShape& shape,
                                                     const WeightsOnDevice& weights, std::uint32_t most_rows);

/// Of bf16, fp16, tf32 or tf32x3 (parts_of_generator() says how). The sizes are those of mma.sync, the only one that
/// keeps sums in device memory: what a generator takes is planned before its device is known.
[[nodiscard]] StepSizes tensor_sizes(const GruShape& shape, Precision precision);

/// By wgmma: only where the device and the build have it.
[[nodiscard]] std::unique_ptr<Steps> make_tensor_steps(Device& device, const GruShape& shape, Precision precision,
                                                       const WeightsOnDevice& weights, std::uint32_t most_rows);

/// By mma.sync, of the batch that has `rows` living ones: device memory. `weights` outlive the steps.
[[nodiscard]] std::unique_ptr<Steps> make_mma_steps(Device& device, const GruShape& shape, Precision precision,
                                                    const WeightsOnDevice& weights, std::uint32_t most_rows,
                                                    const std::uint32_t* rows);

/// The fastest that the device has in that precision, of the batch that has `rows` living ones: device memory.
[[nodiscard]] std::unique_ptr<Steps> make_steps(Device& device, const GruShape& shape, Precision precision,
                                                const WeightsOnDevice& weights, std::uint32_t most_rows,
                                                const std::uint32_t* rows);

}  // namespace sluice::generator
