#include "kernels/cuda/tensor_map.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <string>

#include "core/device/cuda_error.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

/// Through the runtime, so that the program starts on machines without the driver's library.
Encode find_encode() {
    constexpr unsigned since = 12000;
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, since, cudaEnableDefault, &found),
               "cudaGetDriverEntryPointByVersion");
    if (found != cudaDriverEntryPointSuccess) {
        throw Error(ExitCode::unavailable, {.id = "E-GPU-063",
                                            .where = "tensor map",
                                            .what = "got a driver without cuTensorMapEncodeTiled, expected CUDA 12.0",
                                            .hint = "update the NVIDIA driver"});
    }
    return reinterpret_cast<Encode>(function);
}

CUtensorMapDataType data_type(Precision precision) {
    return precision == Precision::bf16   ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
           : precision == Precision::fp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                          : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

}  // namespace

CUtensorMap make_tensor_map(Precision precision, const void* base, std::span<const TensorAxis> axes) {
    constexpr std::size_t most_axes = 5;
    expects(!axes.empty() && axes.size() <= most_axes, "tensor map: one to five axes");
    std::array<cuuint64_t, most_axes> sizes{};
    std::array<cuuint64_t, most_axes> strides{};
    std::array<cuuint32_t, most_axes> box{};
    std::array<cuuint32_t, most_axes> steps{};
    for (std::size_t i = 0; i < axes.size(); ++i) {
        sizes[i] = axes[i].size;
        box[i] = axes[i].box;
        steps[i] = 1;
        if (i > 0) {
            strides[i - 1] = axes[i].stride_bytes;
        }
    }
    static const Encode encode_tiled = find_encode();
    CUtensorMap map{};
    const CUresult status =
        encode_tiled(&map, data_type(precision), static_cast<cuuint32_t>(axes.size()), const_cast<void*>(base),
                     sizes.data(), strides.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                     CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS) {
        fail_call("cuTensorMapEncodeTiled", std::to_string(static_cast<int>(status)));
    }
    return map;
}

CUtensorMap make_matrix_map(Precision precision, const void* matrix, std::uint32_t rows, std::uint64_t columns,
                            std::uint32_t box_rows) {
    constexpr std::uint32_t box_bytes = 128;
    const std::uint64_t number = number_bytes(precision);
    const TensorAxis axes[] = {{columns, 0, static_cast<std::uint32_t>(box_bytes / number)},
                               {rows, columns * number, box_rows}};
    return make_tensor_map(precision, matrix, axes);
}

}  // namespace sluice
