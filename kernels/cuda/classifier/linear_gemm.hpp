#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cuda/classifier/cublas_lt.hpp"
#include "kernels/cuda/primitives/precision.hpp"

namespace sluice {

/// (items, inputs) -> (items, outputs): out[o] = bias[o] + sum over i of weights[o][i] * in[i]; then max(0, out) if
/// relu.
struct LinearGemmShape {
    std::uint32_t inputs;   ///< A multiple of 8.
    std::uint32_t outputs;  ///< A multiple of 8.
    bool relu = false;
    bool batch_invariant = false;  ///< LinearShape::batch_invariant. Uses no workspace.
};

/// Device memory of one layer; not owned. All aligned to 16 bytes.
struct LinearGemmMemory {
    const void* in;       ///< (items, inputs)
    const void* weights;  ///< (outputs, inputs), as encode() makes them
    const void* bias;     ///< (outputs), as encode() makes them; null: no bias
    void* out;            ///< (items, outputs)
    void* workspace;      ///< Used by one stream at a time.
    std::size_t workspace_bytes;
};

/// Workspace that the fast algorithms request on Hopper.
inline constexpr std::size_t linear_workspace_bytes = std::size_t{32} << 20U;

/// Items, a large batch, that the algorithm of a batch-invariant layer is chosen for.
inline constexpr std::uint32_t invariant_items = 4096;

/// A linear layer by cuBLASLt for a fixed number of items.
class LinearGemm {
public:
    /// Chooses cuBLASLt's first algorithm for `items`; throws Error (gpu_fault) if there is none. The order of its
    /// sums, and so the last digit, may depend on `items`, but is the same in every run. Batch-invariant: for any
    /// number of items, the first algorithm for invariant_items that splits no sum and takes one item, too.
    LinearGemm(const LinearGemmShape& shape, Precision precision, std::uint32_t items, const LinearGemmMemory& memory);

    /// Enqueues the layer, on the device that was current at construction; allocates nothing. Throws Error (gpu_fault)
    /// if the launch fails.
    void enqueue(cudaStream_t stream) const;

private:
    struct Destroy {
        void operator()(cublasLtMatmulDescOpaque_t* product) const { cublas_lt().destroy_product(product); }
        void operator()(cublasLtMatrixLayoutOpaque_t* layout) const { cublas_lt().destroy_layout(layout); }
    };
    using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy>;

    void choose_for_any_items(const LinearGemmShape& shape, Precision precision, cublasLtMatmulPreference_t preference);

    LinearGemmMemory memory_;
    cublasLtHandle_t handle_;  // shared by all layers of the device
    std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy> product_;
    Layout weights_;
    Layout in_;
    Layout out_;
    cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace sluice
