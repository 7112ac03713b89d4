#include "kernels/cuda/classifier/cublas_lt.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "core/error.hpp"

namespace sluice {
namespace {

/// Of the major version that this was compiled for.
constexpr const char* library = SLUICE_CUBLAS_LT_LIBRARY;

[[noreturn]] void refuse() {
    const char* const why = ::dlerror();  // NOLINT(concurrency-mt-unsafe): of this thread
    throw Error(ExitCode::unavailable,
                {.id = "E-GPU-070",
                 .where = library,
                 .what = fmt::format("cannot be loaded: {}", escaped(why == nullptr ? "no reason given" : why)),
                 .hint = "install CUDA's cuBLAS, or add its folder to LD_LIBRARY_PATH"});
}

template <class Function>
void load(void* handle, Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(handle, name));
    if (function == nullptr) {
        refuse();
    }
}

CublasLt load() {
    void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);  // until the process ends
    if (handle == nullptr) {
        refuse();
    }
    CublasLt to{};
    load(handle, to.create, "cublasLtCreate");
    load(handle, to.destroy, "cublasLtDestroy");
    load(handle, to.status_text, "cublasLtGetStatusString");
    load(handle, to.create_product, "cublasLtMatmulDescCreate");
    load(handle, to.destroy_product, "cublasLtMatmulDescDestroy");
    load(handle, to.set_product, "cublasLtMatmulDescSetAttribute");
    load(handle, to.create_layout, "cublasLtMatrixLayoutCreate");
    load(handle, to.destroy_layout, "cublasLtMatrixLayoutDestroy");
    load(handle, to.create_preference, "cublasLtMatmulPreferenceCreate");
    load(handle, to.destroy_preference, "cublasLtMatmulPreferenceDestroy");
    load(handle, to.set_preference, "cublasLtMatmulPreferenceSetAttribute");
    load(handle, to.find_algorithms, "cublasLtMatmulAlgoGetHeuristic");
    load(handle, to.check_algorithm, "cublasLtMatmulAlgoCheck");
    load(handle, to.algorithm_attribute, "cublasLtMatmulAlgoConfigGetAttribute");
    load(handle, to.multiply, "cublasLtMatmul");
    return to;
}

}  // namespace

const CublasLt& cublas_lt() {
    static const CublasLt loaded = load();
    return loaded;
}

}  // namespace sluice
