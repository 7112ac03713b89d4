#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/device/cuda_error.hpp"
#include "core/error.hpp"
#include "kernels/cuda/gemm/mma_kernel.cuh"
#include "kernels/cuda/gemm/mma_layout.cuh"
#include "kernels/cuda/gemm/product.cuh"
#include "kernels/cuda/gemm/requirements.hpp"
#include "kernels/cuda/launch.hpp"

/// Creation of products by mma.sync.
namespace sluice::gemm {

template <class Target>
using MmaKernel = ProductKernel<MmaOperands, Target>;

/// Of factors (rows, depth) and (columns, depth) in `precision`.
[[nodiscard]] inline MmaOperands make_mma_operands(Precision precision, const void* a, const void* b,
                                                   std::uint32_t rows, std::uint32_t depth) {
    return {.a = static_cast<const std::uint8_t*>(a),
            .b = static_cast<const std::uint8_t*>(b),
            .rows = rows,
            .row_bytes = depth * static_cast<std::uint32_t>(number_bytes(precision))};
}

template <Precision precision, class C, class Epilogue>
MmaKernel<typename Epilogue::Target> make_mma_kernel() {
    return {.function = &multiply_by_mma<precision, C, Epilogue>,
            .tile = {.rows = C::rows, .columns = C::columns},
            .threads = C::threads,
            .shared_bytes = C::stages_bytes + Epilogue::shared_bytes};
}

/// The kernel's shared memory, in percent of the multiprocessor's maximum.
template <class Target>
int shared_percent(const MmaKernel<Target>& kernel) {
    if (kernel.blocks_of_shared == 0) {
        return cudaSharedmemCarveoutMaxShared;
    }
    constexpr std::uint32_t reserved_bytes = 1024;  // per block, by CUDA
    int device = 0;
    int most = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device),
               "cudaDeviceGetAttribute");
    const std::uint32_t wanted = kernel.blocks_of_shared * (kernel.shared_bytes + reserved_bytes);
    const auto all = static_cast<std::uint32_t>(most);
    return static_cast<int>(std::min((100 * wanted + all - 1) / all, 100U));
}

/// Blocks of the kernel that `multiprocessors` run at a time; 0: all multiprocessors. Sets its shared memory.
template <class Target>
std::uint32_t count_mma_blocks(const MmaKernel<Target>& kernel, std::uint32_t multiprocessors) {
    const auto* const function = reinterpret_cast<const void*>(kernel.function);
    allow_shared_bytes(function, kernel.shared_bytes);
    check_cuda(cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout, shared_percent(kernel)),
               "cudaFuncSetAttribute");
    int of_one = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, function, static_cast<int>(kernel.threads),
                                                             kernel.shared_bytes),
               "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    expects(of_one > 0, "product: the device runs no block of its kernel");
    return static_cast<std::uint32_t>(of_one) * multiprocessors_or_all(multiprocessors);
}

/// Sets the arguments' tiles and steps.
template <class Target>
std::shared_ptr<const Work> make_mma_product(const MmaKernel<Target>& kernel, const char* name, Arguments arguments,
                                             const MmaOperands& operands, const Target& target,
                                             std::uint32_t multiprocessors = 0) {
    arguments.steps = divide_up(operands.row_bytes, mma_step_bytes);
    return std::make_shared<Product<MmaOperands, Target>>(kernel, name, arguments, operands, target,
                                                          count_mma_blocks(kernel, multiprocessors));
}

}  // namespace sluice::gemm
