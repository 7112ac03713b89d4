// Every CUDA kernel: checked against a plain reference on random data, then timed. With mma as on GPUs without wgmma.
//   bench_kernels [bf16|fp16|tf32|tf32x3|fp32] [mma] [check] [time] [invariant] [forward] [ITEMS ...]
#include "tools/bench/bench_kernels.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "core/modes.hpp"
#include "tools/bench/bench_main.hpp"
#include "tools/bench/cuda_bench.hpp"

namespace {

using namespace sluice;

constexpr unsigned patience_s = 90;  // after which a kernel that never ends is killed with the program

/// Of the classifier.
bool has_kernels(Precision precision) {
    constexpr std::array all{Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3, Precision::fp32};
    return std::ranges::find(all, precision) != all.end();
}

int run(int argc, char** argv) {
    Precision precision = Precision::bf16;
    CudaDeviceOptions options;
    bool check = false;
    bool time = false;
    bool forward = false;
    bool invariant = false;
    std::vector<std::uint32_t> sizes;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (const auto asked = enum_of<Precision>(word); asked && has_kernels(*asked)) {
            precision = *asked;
        } else if (word == "mma") {
            options.instructions = MatrixInstructions::mma;
        } else if (word == "check") {
            check = true;
        } else if (word == "time") {
            time = true;
        } else if (word == "forward") {
            forward = true;
        } else if (word == "invariant") {
            invariant = true;
        } else if (word.find_first_not_of("0123456789") == word.npos) {
            sizes.push_back(static_cast<std::uint32_t>(std::stoul(argv[i])));
        } else {
            fmt::print(stderr,
                       "usage: bench_kernels [bf16|fp16|tf32|tf32x3|fp32] [mma] [check] [time] [invariant] [forward] "
                       "[ITEMS ...]\n");
            return 64;
        }
    }
    const auto device = make_cuda_device(0, options);
    const CudaDevice& gpu = as_cuda(*device);
    bool fine = true;
    if (check) {
        fine = bench::check_convolutions(gpu, precision);
        fine = bench::check_forward(gpu, precision) && fine;
    }
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreate(&stream), "cudaStreamCreate");
    if (time) {
        bench::time_convolutions(gpu, precision, stream);
        bench::time_linears(gpu, precision, stream);
    }
    if (invariant) {
        bench::time_invariant_linears(precision, stream);
    }
    if (forward) {
        bench::time_forward(gpu, precision, sizes, stream);
    }
    check_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
    return fine ? 0 : 70;
}

}  // namespace

int main(int argc, char** argv) {
    alarm(patience_s);
    return sluice::bench::exit_code_of(run, argc, argv);
}
