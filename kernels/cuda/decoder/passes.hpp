#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "core/device.hpp"
#include "kernels/cuda/decoder/batch.hpp"
#include "kernels/cuda/decoder/sizes.hpp"
#include "kernels/cuda/decoder/weights.hpp"

namespace sluice::decoder {

/// What a decoder's passes are made of.
struct PassSetup {
    Device& device;
    const DecoderShape& shape;
    Precision precision;
    const TokenSampling& sampling;
    const Sizes& sizes;
    const WeightsOnDevice& weights;  ///< Outlives the passes.
    const Memory& memory;
};

/// Called before each kernel of a pass is enqueued, with a name of its kind: for benchmarks.
using PassWatch = std::function<void(std::string_view)>;

/// How rows pass through the decoder in one precision.
class Passes {
public:
    Passes() = default;
    Passes(const Passes&) = delete;
    Passes& operator=(const Passes&) = delete;
    virtual ~Passes() = default;

    /// Enqueues the pass that was planned: keys and values come into the cache, and each entry's next token into its
    /// text.
    virtual void enqueue(cudaStream_t stream, const PassWatch& watch) = 0;
};

/// Of bf16 and fp16. Only where the build has code for sm_90a.
[[nodiscard]] std::unique_ptr<Passes> make_narrow_passes(const PassSetup& setup);

/// Of fp32, which is what the host computes bit for bit, and tf32, by the instructions of the device, and
/// tf32x3, which is by wgmma only.
[[nodiscard]] std::unique_ptr<Passes> make_float_passes(const PassSetup& setup);

}  // namespace sluice::decoder
