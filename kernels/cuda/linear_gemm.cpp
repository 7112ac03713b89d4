#include "kernels/cuda/linear_gemm.hpp"

#include <map>
#include <mutex>

#include "core/device/cuda_error.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

void check(cublasStatus_t status, const char* call) {
    if (status == CUBLAS_STATUS_ALLOC_FAILED) {
        check_cuda(cudaErrorMemoryAllocation, call);
    }
    if (status != CUBLAS_STATUS_SUCCESS) {
        fail_call(call, cublasLtGetStatusString(status));
    }
}

cudaDataType_t data_type(Precision precision) {
    return precision == Precision::bf16 ? CUDA_R_16BF : precision == Precision::fp16 ? CUDA_R_16F : CUDA_R_32F;
}

/// One a device, made at its first use and kept to the end of the process: making one takes as long as a chunk.
cublasLtHandle_t handle_of_device() {
    static std::mutex mutex;
    static std::map<int, cublasLtHandle_t> handles;
    int device = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    const std::lock_guard lock(mutex);
    cublasLtHandle_t& handle = handles[device];
    if (handle == nullptr) {
        check(cublasLtCreate(&handle), "cublasLtCreate");
    }
    return handle;
}

cublasLtMatmulDescOpaque_t* make_product(Precision precision) {
    cublasLtMatmulDesc_t product = nullptr;
    const cublasComputeType_t type = precision == Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check(cublasLtMatmulDescCreate(&product, type, CUDA_R_32F), "cublasLtMatmulDescCreate");
    return product;
}

cublasLtMatrixLayoutOpaque_t* make_layout(Precision precision, std::uint64_t rows, std::uint64_t columns) {
    cublasLtMatrixLayout_t layout = nullptr;
    check(cublasLtMatrixLayoutCreate(&layout, data_type(precision), rows, columns, static_cast<std::int64_t>(rows)),
          "cublasLtMatrixLayoutCreate");
    return layout;
}

}  // namespace

// cuBLAS has the first index contiguous: weights are (inputs, outputs) to it, in and out (inputs or outputs, items).
LinearGemm::LinearGemm(const LinearGemmShape& shape, Precision precision, std::uint32_t items,
                       const LinearGemmMemory& memory)
    : memory_(memory),
      handle_(handle_of_device()),
      product_(make_product(precision)),
      weights_(make_layout(precision, shape.inputs, shape.outputs)),
      in_(make_layout(precision, shape.inputs, items)),
      out_(make_layout(precision, shape.outputs, items)) {
    expects(items > 0, "linear layer: no items");
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
        check(cublasLtMatmulDescSetAttribute(product_.get(), attribute, &value, sizeof value),
              "cublasLtMatmulDescSetAttribute");
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    if (memory.bias != nullptr) {
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, shape.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS);
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, memory.bias);
        set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(precision));
    } else if (shape.relu) {
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU);
    }
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const Owned<cublasLtMatmulPreferenceOpaque_t, &cublasLtMatmulPreferenceDestroy> owned(preference);
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &memory.workspace_bytes, sizeof memory.workspace_bytes),
          "cublasLtMatmulPreferenceSetAttribute");
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle_, product_.get(), weights_.get(), in_.get(), out_.get(), out_.get(),
                                         preference, 1, &found, &count),
          "cublasLtMatmulAlgoGetHeuristic");
    if (count == 0) {
        check(CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmulAlgoGetHeuristic");
    }
    algorithm_ = found.algo;
}

void LinearGemm::enqueue(cudaStream_t stream) const {
    const float one = 1;
    const float zero = 0;
    check(cublasLtMatmul(handle_, product_.get(), &one, memory_.weights, weights_.get(), memory_.in, in_.get(), &zero,
                         memory_.out, out_.get(), memory_.out, out_.get(), &algorithm_, memory_.workspace,
                         memory_.workspace_bytes, stream),
          "cublasLtMatmul");
}

}  // namespace sluice
