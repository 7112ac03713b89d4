// Preloaded into the program: of the CUDA calls below, the one whose number SLUICE_TEST_FAULT_AT holds returns the
// error SLUICE_TEST_FAULT_CODE, and so do all later ones, as after an error that CUDA cannot recover from. Writes the
// number of calls made to the file SLUICE_TEST_FAULT_COUNT at the process's end.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<long> calls{0};

long number_in(const char* variable) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? 0 : std::atol(text);
}

bool faulty() {
    static const long at = number_in("SLUICE_TEST_FAULT_AT");
    return ++calls >= at && at != 0;
}

cudaError_t fault() {
    static const auto code = static_cast<cudaError_t>(number_in("SLUICE_TEST_FAULT_CODE"));
    return code;
}

struct Count {
    ~Count() {
        const char* const path = std::getenv("SLUICE_TEST_FAULT_COUNT");
        if (std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "w"); file != nullptr) {
            std::fprintf(file, "%ld", calls.load());
            std::fclose(file);
        }
    }
} count;

template <class Function>
Function real(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define SLUICE_FAULTY(name, parameters, arguments)                       \
    extern "C" cudaError_t name parameters {                             \
        static const auto call = real<cudaError_t(*) parameters>(#name); \
        return faulty() ? fault() : call arguments;                      \
    }

SLUICE_FAULTY(cudaMalloc, (void** memory, std::size_t bytes), (memory, bytes))
SLUICE_FAULTY(cudaHostAlloc, (void** memory, std::size_t bytes, unsigned flags), (memory, bytes, flags))
SLUICE_FAULTY(cudaMemcpy, (void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind), (to, from, bytes, kind))
SLUICE_FAULTY(cudaMemcpyAsync,
              (void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
              (to, from, bytes, kind, stream))
SLUICE_FAULTY(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags))
SLUICE_FAULTY(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags), (stream, event, flags))
SLUICE_FAULTY(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
SLUICE_FAULTY(cudaEventQuery, (cudaEvent_t event), (event))
SLUICE_FAULTY(cudaGraphInstantiate, (cudaGraphExec_t * graph, cudaGraph_t from, unsigned long long flags),
              (graph, from, flags))
SLUICE_FAULTY(cudaGraphLaunch, (cudaGraphExec_t graph, cudaStream_t stream), (graph, stream))
SLUICE_FAULTY(cudaLaunchKernelExC, (const cudaLaunchConfig_t* config, const void* kernel, void** arguments),
              (config, kernel, arguments))
