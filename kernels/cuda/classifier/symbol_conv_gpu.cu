#include <algorithm>

#include "core/error.hpp"
#include "kernels/cuda/classifier/symbol_conv_gpu.hpp"
#include "kernels/cuda/classifier/symbol_conv_layout.hpp"
#include "kernels/cuda/classifier/symbol_gather.cuh"
#include "kernels/cuda/classifier/symbol_statistics.hpp"
#include "kernels/cuda/launch.hpp"

namespace sluice {
namespace {

using namespace symbol_conv;

/// A kernel and its blocks' sizes.
struct Gather {
    void (*kernel)(GatherArguments);
    std::uint32_t shared_bytes;
    std::uint32_t groups;
    std::uint32_t row_bytes;
};

template <class B>
void (*kernel_by(Precision precision))(GatherArguments) {
    switch (precision) {
        case Precision::bf16:
            return &symbol_gather<__half, __nv_bfloat16, B>;
        case Precision::fp16:
            return &symbol_gather<__half, __half, B>;
        case Precision::tf32:
            return &symbol_gather<float, values::Tf32, B>;
        case Precision::tf32x3:
            return &symbol_gather<float, values::Tf32x3, B>;
        default:
            return &symbol_gather<float, float, B>;
    }
}

template <class B>
Gather gather_by(Precision precision) {
    return {.kernel = kernel_by<B>(precision),
            .shared_bytes = B::shared_bytes,
            .groups = B::groups,
            .row_bytes = B::row_bytes};
}

Gather choose_gather(Precision precision, std::uint32_t block_shared_bytes) {
    return block_shared_bytes >= WholeSlice::shared_bytes ? gather_by<WholeSlice>(precision)
                                                          : gather_by<HalfSlice>(precision);
}

}  // namespace

SymbolConvGpu::SymbolConvGpu(const SymbolConvGpuShape& shape, Precision precision, std::uint32_t most_items,
                             const SymbolConvMemory& memory, std::uint32_t block_shared_bytes)
    : shape_(shape),
      precision_(precision),
      most_items_(most_items),
      memory_(memory),
      block_shared_bytes_(block_shared_bytes) {
    expects(block_shared_bytes >= least_shared_bytes, "symbol convolution: too little shared memory");
    expects(shape.length >= 2 * (taps - 1) && shape.length <= symbol_conv::most_length &&
                shape.positions() % symbol_conv::pool == 0 && shape.channels % 128 == 0 && shape.channels > 0 &&
                shape.symbols <= SymbolConvGpuShape::most_symbols,
            "symbol convolution: its sizes do not fit");
    multiprocessors_ = count_multiprocessors();
    symbol_conv::allow_statistics(shape.length, block_shared_bytes);
    const Gather gather = choose_gather(precision, block_shared_bytes);
    allow_shared_bytes(gather.kernel, gather.shared_bytes);
}

void SymbolConvGpu::enqueue_convolution(std::uint32_t items, cudaStream_t stream) const {
    expects(items <= most_items_, "symbol convolution: more items than it was made for");
    if (items == 0) {
        return;
    }
    const auto value_bytes = number_bytes(precision_);
    const Gather gather = choose_gather(precision_, block_shared_bytes_);
    const auto parts = static_cast<std::uint32_t>(shape_.channels * value_bytes / gather.row_bytes);
    const std::uint32_t group_blocks = (shape_.pooled() + gather.groups - 1) / gather.groups;
    const std::uint32_t ranges = std::clamp(multiprocessors_ / (parts * group_blocks), 1U, items);
    const GatherArguments arguments{.symbols = memory_.symbols,
                                    .table = static_cast<const std::uint8_t*>(memory_.table),
                                    .gamma = memory_.gamma,
                                    .beta = memory_.beta,
                                    .scales = memory_.scales,
                                    .out = memory_.out,
                                    .items = items,
                                    .length = shape_.length,
                                    .groups = shape_.pooled(),
                                    .channels = shape_.channels,
                                    .group_blocks = group_blocks,
                                    .item_ranges = ranges};
    launch(gather.kernel, "symbol convolution",
           {.blocks = parts * group_blocks * ranges,
            .threads = block_threads,
            .shared_bytes = gather.shared_bytes,
            .chained = true},
           stream, arguments);
}

}  // namespace sluice
