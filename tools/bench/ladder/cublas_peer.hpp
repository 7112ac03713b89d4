#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/gemm/gemm.hpp"
#include "kernels/cuda/primitives/precision.hpp"

namespace sluice::ladder {

struct PeerShape {
    std::uint32_t m;
    std::uint32_t n;
    std::uint32_t k;
    Precision precision;                       ///< fp32: b is (k, n); otherwise (n, k).
    bool bias = false;                         ///< In the operands' precision.
    Activation activation = Activation::none;  ///< Not gelu_erf, which cuBLASLt does not have.
    bool residual = false;
};

struct PeerMemory {
    const void* a;
    const void* b;
    const void* bias;
    const void* residual;
    void* out;
};

/// The same product by cuBLASLt: the fastest measured of up to 16 algorithms from its heuristics.
class CublasPeer {
public:
    /// Times each algorithm on `memory`.
    CublasPeer(const PeerShape& shape, const PeerMemory& memory, cudaStream_t stream);
    ~CublasPeer();
    CublasPeer(const CublasPeer&) = delete;
    CublasPeer& operator=(const CublasPeer&) = delete;

    /// Only if tried() is above 0.
    void enqueue(const PeerMemory& memory, cudaStream_t stream) const;

    /// Algorithms; 0 if the library has none for this product.
    [[nodiscard]] int tried() const noexcept { return tried_; }

private:
    void run(const PeerMemory& memory, const cublasLtMatmulAlgo_t& algorithm, cudaStream_t stream) const;

    PeerShape shape_;
    DeviceMemory workspace_;
    cublasLtHandle_t handle_{};
    cublasLtMatmulDesc_t product_{};
    cublasLtMatrixLayout_t a_{};
    cublasLtMatrixLayout_t b_{};
    cublasLtMatrixLayout_t out_{};
    cublasLtMatmulAlgo_t algorithm_{};
    int tried_ = 0;
};

}  // namespace sluice::ladder
