#pragma once

#include <algorithm>
#include <cstdint>

#include "core/device/cuda_error.hpp"
#include "core/error.hpp"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/gemm/mma_kernel.cuh"
#include "kernels/cuda/gemm/mma_layout.cuh"
#include "kernels/cuda/gemm/mma_work.hpp"
#include "kernels/cuda/launch.hpp"

/// How products by mma.sync are launched.
namespace sluice::gemm {

/// The code for one tile and what is done with its sums, and what its launch takes.
template <class Target>
struct MmaKernel {
    void (*function)(Arguments, MmaOperands, Target);
    GemmTile tile;
    std::uint32_t threads;
    std::uint32_t shared_bytes;
    /// For which a multiprocessor gives shared memory, so that the others' is first-level cache; 0: all it can.
    std::uint32_t blocks_of_shared = 0;
};

template <Precision precision, class C, class Epilogue>
MmaKernel<typename Epilogue::Target> make_mma_kernel() {
    return {.function = &multiply_by_mma<precision, C, Epilogue>,
            .tile = {.rows = C::rows, .columns = C::columns},
            .threads = C::threads,
            .shared_bytes = C::stages_bytes + Epilogue::shared_bytes};
}

inline std::uint32_t count_multiprocessors() {
    int device = 0;
    int count = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    return static_cast<std::uint32_t>(count);
}

/// Of the most shared memory that a multiprocessor gives, what the kernel wants.
template <class Target>
int shared_percent(const MmaKernel<Target>& kernel) {
    if (kernel.blocks_of_shared == 0) {
        return cudaSharedmemCarveoutMaxShared;
    }
    constexpr std::uint32_t reserved_bytes = 1024;  // of a block, by CUDA
    int device = 0;
    int most = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device),
               "cudaDeviceGetAttribute");
    const std::uint32_t wanted = kernel.blocks_of_shared * (kernel.shared_bytes + reserved_bytes);
    const auto all = static_cast<std::uint32_t>(most);
    return static_cast<int>(std::min((100 * wanted + all - 1) / all, 100U));
}

/// The kernel's blocks that so many multiprocessors run at a time; all of them if 0.
template <class Target>
std::uint32_t count_mma_blocks(const MmaKernel<Target>& kernel, std::uint32_t multiprocessors) {
    const auto* const function = reinterpret_cast<const void*>(kernel.function);
    check_cuda(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(kernel.shared_bytes)),
               "cudaFuncSetAttribute");
    check_cuda(cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout, shared_percent(kernel)),
               "cudaFuncSetAttribute");
    int of_one = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, function, static_cast<int>(kernel.threads),
                                                             kernel.shared_bytes),
               "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    expects(of_one > 0, "product: the device runs no block of its kernel");
    return static_cast<std::uint32_t>(of_one) * (multiprocessors == 0 ? count_multiprocessors() : multiprocessors);
}

/// A product by one kernel on the current device.
template <class Target>
class MmaProduct final : public MmaWork {
public:
    /// Of the arguments, all that tell of tiles and steps are set here.
    MmaProduct(const MmaKernel<Target>& kernel, const char* name, const Arguments& arguments,
               const MmaOperands& operands, const Target& target, std::uint32_t multiprocessors)
        : kernel_(kernel), name_(name), arguments_(arguments), operands_(operands), target_(target) {
        const auto up = [](std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; };
        arguments_.steps = up(operands.row_bytes, mma_step_bytes);
        arguments_.tile_rows = up(operands.rows, kernel.tile.rows);
        arguments_.tile_columns = up(arguments.columns, kernel.tile.columns);
        const std::uint64_t tiles = std::uint64_t{arguments_.tile_rows} * arguments_.tile_columns;
        expects(tiles <= 0x7FFFFFFF, "product: more tiles than a kernel counts");
        blocks_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(tiles, count_mma_blocks(kernel, multiprocessors)));
        arguments_.group_rows = gemm_group_rows(kernel.tile, arguments_.tile_rows, blocks_);
    }

    void enqueue(cudaStream_t stream) const override {
        launch(kernel_.function, name_,
               {.blocks = blocks_,
                .threads = kernel_.threads,
                .shared_bytes = kernel_.shared_bytes,
                .chained = arguments_.chained},
               stream, arguments_, operands_, target_);
    }

private:
    MmaKernel<Target> kernel_;
    const char* name_;
    Arguments arguments_;
    MmaOperands operands_;
    Target target_;
    std::uint32_t blocks_ = 0;
};

}  // namespace sluice::gemm
