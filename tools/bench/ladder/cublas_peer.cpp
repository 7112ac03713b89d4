#include "tools/bench/ladder/cublas_peer.hpp"

#include <array>
#include <limits>

#include "core/device/cuda_error.hpp"
#include "core/error.hpp"
#include "kernels/cuda/classifier/cublas_lt.hpp"

namespace sluice::ladder {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{64} << 20U;
constexpr int most_algorithms = 16;
constexpr int timed_calls = 5;

void check_peer(cublasStatus_t status, const char* call) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        fail_call(call, cublas_lt().status_text(status));
    }
}

cudaDataType_t type_of(Precision precision) {
    return precision == Precision::bf16 ? CUDA_R_16BF : precision == Precision::fp16 ? CUDA_R_16F : CUDA_R_32F;
}

cublasLtEpilogue_t epilogue_of(const PeerShape& shape) {
    switch (shape.activation) {
        case Activation::relu:
            return shape.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
        case Activation::gelu_tanh:
        case Activation::gelu_erf:
            return shape.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
        case Activation::silu:  // it has none
        case Activation::none:
            break;
    }
    return shape.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

}  // namespace

// cuBLAS is column-major: out is (n, m) to it, so the first factor is b.
CublasPeer::CublasPeer(const PeerShape& shape, const PeerMemory& memory, cudaStream_t stream)
    : shape_(shape), workspace_(workspace_bytes) {
    const cudaDataType_t type = type_of(shape.precision);
    const bool b_as_weights = shape.precision != Precision::fp32;
    check_peer(cublas_lt().create(&handle_), "cublasLtCreate");
    check_peer(cublas_lt().create_product(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
        check_peer(cublas_lt().set_product(product_, attribute, &value, sizeof value),
                   "cublasLtMatmulDescSetAttribute");
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, b_as_weights ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(shape));
    if (shape.bias) {
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, memory.bias);
        set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
    }
    const auto layout = [&](cublasLtMatrixLayout_t& to, std::uint64_t rows, std::uint64_t columns) {
        check_peer(cublas_lt().create_layout(&to, type, rows, columns, static_cast<std::int64_t>(rows)),
                   "cublasLtMatrixLayoutCreate");
    };
    b_as_weights ? layout(b_, shape.k, shape.n) : layout(b_, shape.n, shape.k);
    layout(a_, shape.k, shape.m);
    layout(out_, shape.n, shape.m);
    cublasLtMatmulPreference_t preference = nullptr;
    check_peer(cublas_lt().create_preference(&preference), "cublasLtMatmulPreferenceCreate");
    check_peer(cublas_lt().set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                                          sizeof workspace_bytes),
               "cublasLtMatmulPreferenceSetAttribute");
    std::array<cublasLtMatmulHeuristicResult_t, most_algorithms> found{};
    const cublasStatus_t status = cublas_lt().find_algorithms(handle_, product_, b_, a_, out_, out_, preference,
                                                              most_algorithms, found.data(), &tried_);
    cublas_lt().destroy_preference(preference);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) {
        tried_ = 0;
        return;
    }
    check_peer(status, "cublasLtMatmulAlgoGetHeuristic");
    cudaEvent_t begin{};
    cudaEvent_t end{};
    check_cuda(cudaEventCreate(&begin), "cudaEventCreate");
    check_cuda(cudaEventCreate(&end), "cudaEventCreate");
    float least = std::numeric_limits<float>::infinity();
    for (int i = 0; i < tried_; ++i) {
        const cublasLtMatmulAlgo_t& algorithm = found[static_cast<std::size_t>(i)].algo;
        run(memory, algorithm, stream);
        check_cuda(cudaEventRecord(begin, stream), "cudaEventRecord");
        for (int call = 0; call < timed_calls; ++call) {
            run(memory, algorithm, stream);
        }
        check_cuda(cudaEventRecord(end, stream), "cudaEventRecord");
        check_cuda(cudaEventSynchronize(end), "cudaEventSynchronize");
        float ms = 0;
        check_cuda(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
        if (ms < least) {
            least = ms;
            algorithm_ = algorithm;
        }
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
}

CublasPeer::~CublasPeer() {
    cublas_lt().destroy_layout(a_);
    cublas_lt().destroy_layout(b_);
    cublas_lt().destroy_layout(out_);
    cublas_lt().destroy_product(product_);
    cublas_lt().destroy(handle_);
}

void CublasPeer::run(const PeerMemory& memory, const cublasLtMatmulAlgo_t& algorithm, cudaStream_t stream) const {
    const float one = 1;
    const float add = shape_.residual ? 1 : 0;
    const void* const others = shape_.residual ? memory.residual : memory.out;
    check_peer(cublas_lt().multiply(handle_, product_, &one, memory.b, b_, memory.a, a_, &add, others, out_, memory.out,
                                    out_, &algorithm, workspace_.as(), workspace_bytes, stream),
               "cublasLtMatmul");
}

void CublasPeer::enqueue(const PeerMemory& memory, cudaStream_t stream) const {
    expects(tried_ > 0, "library: has no algorithm for this product");
    run(memory, algorithm_, stream);
}

}  // namespace sluice::ladder
