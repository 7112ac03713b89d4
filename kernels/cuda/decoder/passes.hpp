#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "core/device.hpp"
#include "core/interface.hpp"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/decoder/sizes.hpp"
#include "kernels/cuda/decoder/weights.hpp"

namespace sluice::decoder {

/// Parameters of a decoder's passes.
struct PassSetup {
    Device& device;
    const DecoderShape& shape;
    Precision precision;
    const TokenSampling& sampling;
    const Sizes& sizes;
    const WeightsOnDevice& weights;  ///< Outlives the passes.
    const Memory& memory;
};

/// Called before each kernel of a pass is enqueued, with the name of its kind: for benchmarks.
using PassWatch = std::function<void(std::string_view)>;

/// Forward passes in one precision.
class Passes : public Interface {
public:
    /// Enqueues the planned pass, which has at most most_rows_of_size(size) rows: adds keys and values to the cache,
    /// and each entry's next token to its text.
    virtual void enqueue(cudaStream_t stream, std::uint32_t size, const PassWatch& watch) = 0;
};

/// For bf16 and fp16; products by the device's instructions.
[[nodiscard]] std::unique_ptr<Passes> make_narrow_passes(const PassSetup& setup);

/// For fp8, by wgmma.
[[nodiscard]] std::unique_ptr<Passes> make_fp8_passes(const PassSetup& setup);

/// For fp32, with the host's bits, and tf32, by the device's instructions; and for tf32x3 and fp16x2, by wgmma only.
[[nodiscard]] std::unique_ptr<Passes> make_float_passes(const PassSetup& setup);

/// Number of sizes of passes of at most so many rows.
[[nodiscard]] constexpr std::uint32_t sizes_up_to(std::uint32_t rows) {
    return pass_size_of(rows) + 1;
}

[[nodiscard]] inline std::unique_ptr<Passes> make_passes(const PassSetup& setup) {
    if (setup.precision == Precision::fp8) {
        return make_fp8_passes(setup);
    }
    return is_narrow(setup.precision) ? make_narrow_passes(setup) : make_float_passes(setup);
}

}  // namespace sluice::decoder
