#pragma once

#include <cublasLt.h>

namespace sluice {

/// cuBLASLt's functions of the same names. The library is loaded at the first use, because it takes a process 60 ms and
/// 200 MB, and most jobs do not need it.
struct CublasLt {
    decltype(&::cublasLtCreate) create;
    decltype(&::cublasLtDestroy) destroy;
    decltype(&::cublasLtGetStatusString) status_text;
    decltype(&::cublasLtMatmulDescCreate) create_product;
    decltype(&::cublasLtMatmulDescDestroy) destroy_product;
    decltype(&::cublasLtMatmulDescSetAttribute) set_product;
    decltype(&::cublasLtMatrixLayoutCreate) create_layout;
    decltype(&::cublasLtMatrixLayoutDestroy) destroy_layout;
    decltype(&::cublasLtMatmulPreferenceCreate) create_preference;
    decltype(&::cublasLtMatmulPreferenceDestroy) destroy_preference;
    decltype(&::cublasLtMatmulPreferenceSetAttribute) set_preference;
    decltype(&::cublasLtMatmulAlgoGetHeuristic) find_algorithms;
    decltype(&::cublasLtMatmulAlgoCheck) check_algorithm;
    decltype(&::cublasLtMatmulAlgoConfigGetAttribute) algorithm_attribute;
    decltype(&::cublasLtMatmul) multiply;
};

/// Thread-safe. Throws Error (unavailable) when the library cannot be loaded.
[[nodiscard]] const CublasLt& cublas_lt();

}  // namespace sluice
