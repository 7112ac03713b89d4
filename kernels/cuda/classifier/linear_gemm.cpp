#include "kernels/cuda/classifier/linear_gemm.hpp"

#include <algorithm>
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
        fail_call(call, cublas_lt().status_text(status));
    }
}

cudaDataType_t data_type(Precision precision) {
    return precision == Precision::bf16 ? CUDA_R_16BF : precision == Precision::fp16 ? CUDA_R_16F : CUDA_R_32F;
}

/// One per device, created at its first use and kept until the process ends: creation takes as long as a chunk.
cublasLtHandle_t handle_of_device() {
    static std::mutex mutex;
    static std::map<int, cublasLtHandle_t> handles;
    int device = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    const std::lock_guard lock(mutex);
    cublasLtHandle_t& handle = handles[device];
    if (handle == nullptr) {
        check(cublas_lt().create(&handle), "cublasLtCreate");
    }
    return handle;
}

cublasLtMatmulDescOpaque_t* make_product(Precision precision) {
    cublasLtMatmulDesc_t product = nullptr;
    const cublasComputeType_t type = precision == Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check(cublas_lt().create_product(&product, type, CUDA_R_32F), "cublasLtMatmulDescCreate");
    return product;
}

cublasLtMatrixLayoutOpaque_t* make_layout(Precision precision, std::uint64_t rows, std::uint64_t columns) {
    cublasLtMatrixLayout_t layout = nullptr;
    check(cublas_lt().create_layout(&layout, data_type(precision), rows, columns, static_cast<std::int64_t>(rows)),
          "cublasLtMatrixLayoutCreate");
    return layout;
}

using Preference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                    decltype([](cublasLtMatmulPreference_t handle) { cublas_lt().destroy_preference(handle); })>;

template <class Value>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
    check(cublas_lt().set_preference(preference.get(), attribute, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
}

Preference make_preference(const LinearGemmShape& shape, std::size_t workspace_bytes) {
    cublasLtMatmulPreference_t handle = nullptr;
    check(cublas_lt().create_preference(&handle), "cublasLtMatmulPreferenceCreate");
    Preference preference(handle);
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    if (shape.batch_invariant) {
        constexpr std::uint32_t whole_sums = CUBLASLT_REDUCTION_SCHEME_NONE;
        constexpr std::uint32_t alignment = 16;  // even if one call's memory is aligned to more
        set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, whole_sums);
        set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
        set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
        set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
        set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);
    }
    return preference;
}

bool splits_sums(const cublasLtMatmulAlgo_t& algorithm) {
    std::int32_t parts = 0;
    std::size_t written = 0;
    check(cublas_lt().algorithm_attribute(&algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts, &written),
          "cublasLtMatmulAlgoConfigGetAttribute");
    return parts > 1;
}

/// cuBLASLt's heuristic results, best first.
std::vector<cublasLtMatmulHeuristicResult_t> find_algorithms(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                                             cublasLtMatrixLayout_t weights, cublasLtMatrixLayout_t in,
                                                             cublasLtMatrixLayout_t out,
                                                             cublasLtMatmulPreference_t preference, int most) {
    std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(most));
    int count = 0;
    check(cublas_lt().find_algorithms(handle, product, weights, in, out, out, preference, most, found.data(), &count),
          "cublasLtMatmulAlgoGetHeuristic");
    found.resize(static_cast<std::size_t>(count));
    return found;
}

}  // namespace

// cuBLAS is column-major: to it, weights are (inputs, outputs), in and out (inputs or outputs, items).
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
        check(cublas_lt().set_product(product_.get(), attribute, &value, sizeof value),
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
    expects(!shape.batch_invariant || memory.workspace_bytes == 0, "linear layer: work space that it must not use");
    const Preference preference = make_preference(shape, memory.workspace_bytes);
    if (shape.batch_invariant) {
        choose_for_any_items(shape, precision, preference.get());
        return;
    }
    const auto found =
        find_algorithms(handle_, product_.get(), weights_.get(), in_.get(), out_.get(), preference.get(), 1);
    if (found.empty()) {
        check(CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmulAlgoGetHeuristic");
    }
    algorithm_ = found.front().algo;
}

/// The algorithm fixes the kernel, its tile and so the order of sums; the number of items changes the number of tiles
/// only.
void LinearGemm::choose_for_any_items(const LinearGemmShape& shape, Precision precision,
                                      cublasLtMatmulPreference_t preference) {
    constexpr int most_algorithms = 32;
    constexpr std::uint32_t fewest_items = 1;
    const Layout in(make_layout(precision, shape.inputs, invariant_items));
    const Layout out(make_layout(precision, shape.outputs, invariant_items));
    const Layout one_in(make_layout(precision, shape.inputs, fewest_items));
    const Layout one_out(make_layout(precision, shape.outputs, fewest_items));
    const auto found =
        find_algorithms(handle_, product_.get(), weights_.get(), in.get(), out.get(), preference, most_algorithms);
    const auto fits = [&](const cublasLtMatmulAlgo_t& algorithm, const Layout& some_in, const Layout& some_out) {
        cublasLtMatmulHeuristicResult_t result{};
        const cublasStatus_t status =
            cublas_lt().check_algorithm(handle_, product_.get(), weights_.get(), some_in.get(), some_out.get(),
                                        some_out.get(), &algorithm, &result);
        return status == CUBLAS_STATUS_SUCCESS && result.workspaceSize == 0;
    };
    const auto chosen = std::ranges::find_if(found, [&](const cublasLtMatmulHeuristicResult_t& result) {
        return !splits_sums(result.algo) && fits(result.algo, in, out) && fits(result.algo, one_in, one_out);
    });
    if (chosen == found.end() || !fits(chosen->algo, in_, out_)) {
        check(CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmulAlgoGetHeuristic: none for any number of items");
    }
    algorithm_ = chosen->algo;
}

void LinearGemm::enqueue(cudaStream_t stream) const {
    const float one = 1;
    const float zero = 0;
    check(cublas_lt().multiply(handle_, product_.get(), &one, memory_.weights, weights_.get(), memory_.in, in_.get(),
                               &zero, memory_.out, out_.get(), memory_.out, out_.get(), &algorithm_, memory_.workspace,
                               memory_.workspace_bytes, stream),
          "cublasLtMatmul");
}

}  // namespace sluice
