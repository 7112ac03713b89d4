// What decides the design of products and loops on a GPU, measured apart from models:
//   bench_probes tiles    Gemm at the shapes of models: rate, clock and energy of the chosen tile, also chained, beside
//                         cuBLASLt, and of every other tile beside the chosen one
//   bench_probes larger   the same at the shapes of GPT-2 medium, large and XL
//   bench_probes beside   a product on some multiprocessors while others read memory: rates, clock, power
//   bench_probes loop     what a round of a loop on the device costs, beside the same kernels without a loop
// All without an argument.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>

#include "tools/bench/bench_main.hpp"
#include "tools/bench/probes.hpp"

namespace sluice::bench {
namespace {

int run(int argc, char** argv) {
    const std::string_view which = argc > 1 ? argv[1] : "";
    constexpr std::string_view known[] = {"", "tiles", "larger", "beside", "loop"};
    if (argc > 2 || std::ranges::find(known, which) == std::end(known)) {
        fmt::print(stderr, "usage: bench_probes [tiles | larger | beside | loop]\n");
        return 64;
    }
    const std::unique_ptr<Device> device = make_cuda_device(0);
    CudaDevice& gpu = as_cuda(*device);
    const std::unique_ptr<Stream> stream = gpu.make_stream({});
    fmt::print("{}\n", gpu.name());
    if (which.empty() || which == "tiles") {
        time_tiles(false, as_cuda(*stream).handle());
    }
    if (which.empty() || which == "larger") {
        time_tiles(true, as_cuda(*stream).handle());
    }
    if (which.empty() || which == "beside") {
        time_beside(as_cuda(*stream).handle());
    }
    if (which.empty() || which == "loop") {
        time_loop(gpu, as_cuda(*stream));
    }
    return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    return sluice::bench::exit_code_of(sluice::bench::run, argc, argv);
}
