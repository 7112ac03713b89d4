#include "tools/bench/ladder/windows.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/device/cuda_error.hpp"

namespace sluice::ladder {
namespace {

constexpr std::chrono::milliseconds between_readings{5};

Window mean(const Window& a, const Window& b) {
    const auto of_both = [](std::optional<double> x, std::optional<double> y) {
        return x && y ? std::optional((*x + *y) / 2) : std::nullopt;
    };
    return {.seconds_per_call = (a.seconds_per_call + b.seconds_per_call) / 2,
            .clock_mhz = of_both(a.clock_mhz, b.clock_mhz),
            .joules_per_call = of_both(a.joules_per_call, b.joules_per_call)};
}

}  // namespace

Windows::Windows(std::size_t operands, cudaStream_t stream) : operands_(operands), stream_(stream) {
    check_cuda(cudaEventCreate(&begin_), "cudaEventCreate");
    check_cuda(cudaEventCreate(&end_), "cudaEventCreate");
}

Windows::~Windows() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
}

double Windows::time(const Product& product, int calls) {
    check_cuda(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    for (int i = 0; i < calls; ++i) {
        product(next_++ % operands_, stream_);
    }
    check_cuda(cudaEventRecord(end_, stream_), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(ms) / calls;
}

double Windows::single_call(const Product& product, int calls) {
    static_cast<void>(time(product, 1));  // loads the kernel
    std::vector<double> times;
    for (int i = 0; i < calls; ++i) {
        times.push_back(time(product, 1));
    }
    std::ranges::sort(times);
    return times[times.size() / 2];
}

Window Windows::sustained(const Product& product, double seconds) {
    const double one = time(product, 2);
    const int calls = std::max(2, static_cast<int>(std::ceil(seconds / one)));
    const std::optional<double> before = meter_.energy_joules();
    check_cuda(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    for (int i = 0; i < calls; ++i) {
        product(next_++ % operands_, stream_);
    }
    check_cuda(cudaEventRecord(end_, stream_), "cudaEventRecord");
    double clocks = 0;
    int readings = 0;
    while (cudaEventQuery(end_) == cudaErrorNotReady) {
        if (const std::optional<double> clock = meter_.clock_mhz()) {
            clocks += *clock;
            ++readings;
        }
        std::this_thread::sleep_for(between_readings);
    }
    check_cuda(cudaEventSynchronize(end_), "cudaEventSynchronize");
    const std::optional<double> after = meter_.energy_joules();
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
    return {.seconds_per_call = 1e-3 * static_cast<double>(ms) / calls,
            .clock_mhz = readings > 0 ? std::optional(clocks / readings) : std::nullopt,
            .joules_per_call = before && after ? std::optional((*after - *before) / calls) : std::nullopt};
}

std::vector<Window> Windows::in_turn(const std::vector<Product>& candidates, double seconds) {
    static_cast<void>(sustained(candidates.back(), seconds));
    std::vector<Window> seen;
    for (const Product& candidate : candidates) {
        seen.push_back(sustained(candidate, seconds));
    }
    for (std::size_t i = candidates.size(); i-- > 0;) {
        seen[i] = mean(seen[i], sustained(candidates[i], seconds));
    }
    return seen;
}

}  // namespace sluice::ladder
