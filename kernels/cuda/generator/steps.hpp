#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/device.hpp"
#include "core/interface.hpp"
#include "kernels/cuda/generator/batch.hpp"
#include "kernels/cuda/generator/weights.hpp"

namespace sluice::generator {

/// Steps of rows in one precision. States before and after a step are separate.
class Steps : public Interface {
public:
    /// Enqueues a step of the active rows: from states(turn) and the rows' symbols to states(1 - turn) and scores.
    virtual void enqueue(const Memory& memory, std::uint32_t turn, cudaStream_t stream) = 0;

    /// `turn`: 0 or 1. Initially zeros.
    [[nodiscard]] virtual const StateRows& states(std::uint32_t turn) const = 0;
};

/// Sizes of a precision's steps, known before these are made.
struct StepSizes {
    std::uint32_t row_multiple;  ///< The number of rows is a multiple of it.
    std::uint32_t most_rows;     ///< Maximum number of rows that step together: more gain nothing or take too much.
    std::uint32_t matrices;      ///< As in StateRows.
    std::uint32_t row_bytes;     ///< As in StateRows.
    std::uint64_t work_bytes_per_row = 0;  ///< Device memory in bytes, besides states and scores.
};

[[nodiscard]] StepSizes simt_sizes(const GruShape& shape);
[[nodiscard]] std::unique_ptr<Steps> make_simt_steps(Device& device, const GruShape& shape,
                                                     const WeightsOnDevice& weights, std::uint32_t most_rows);

/// For bf16, fp16, tf32 or tf32x3 (see parts_of_generator()). The sizes are those of mma.sync, which alone keeps sums
/// in device memory: a generator's memory is planned before its device is known.
[[nodiscard]] StepSizes tensor_sizes(const GruShape& shape, Precision precision);

/// By wgmma, which the device and the build must have.
[[nodiscard]] std::unique_ptr<Steps> make_tensor_steps(Device& device, const GruShape& shape, Precision precision,
                                                       const WeightsOnDevice& weights, std::uint32_t most_rows);

/// By mma.sync. `rows`: in device memory, the number of active rows. `weights` outlive the steps.
[[nodiscard]] std::unique_ptr<Steps> make_mma_steps(Device& device, const GruShape& shape, Precision precision,
                                                    const WeightsOnDevice& weights, std::uint32_t most_rows,
                                                    const std::uint32_t* rows);

/// The fastest of the device in that precision. `rows`: in device memory, the number of active rows.
[[nodiscard]] std::unique_ptr<Steps> make_steps(Device& device, const GruShape& shape, Precision precision,
                                                const WeightsOnDevice& weights, std::uint32_t most_rows,
                                                const std::uint32_t* rows);

}  // namespace sluice::generator
