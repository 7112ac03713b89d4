#include "tools/bench/cuda_bench.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

namespace sluice::bench {
namespace {

class Timer {
public:
    explicit Timer(cudaStream_t stream) : stream_(stream) {
        check_cuda(cudaEventCreate(&begin_), "cudaEventCreate");
        check_cuda(cudaEventCreate(&end_), "cudaEventCreate");
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() {
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
    }

    double us_per_call(const Launch& launch, int calls) {
        check_cuda(cudaEventRecord(begin_, stream_), "cudaEventRecord");
        for (int i = 0; i < calls; ++i) {
            launch(stream_);
        }
        check_cuda(cudaEventRecord(end_, stream_), "cudaEventRecord");
        check_cuda(cudaEventSynchronize(end_), "cudaEventSynchronize");
        float ms = 0;
        check_cuda(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
        return 1e3 * static_cast<double>(ms) / calls;
    }

private:
    cudaStream_t stream_;
    cudaEvent_t begin_{};
    cudaEvent_t end_{};
};

}  // namespace

std::vector<Timing> time_in_turn(std::span<const Launch> candidates, cudaStream_t stream, double sample_us,
                                 int repeats) {
    Timer timer(stream);
    std::vector<int> calls;
    for (const Launch& candidate : candidates) {
        timer.us_per_call(candidate, 3);  // loads the kernels
        calls.push_back(1 + static_cast<int>(std::ceil(sample_us / timer.us_per_call(candidate, 5))));
    }
    std::vector<std::vector<double>> times(candidates.size());
    for (int repeat = 0; repeat < repeats; ++repeat) {
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            times[i].push_back(timer.us_per_call(candidates[i], calls[i]));
        }
    }
    std::vector<Timing> result;
    for (auto& t : times) {
        std::ranges::sort(t);
        result.push_back({t[t.size() / 2], t.front(), t.back()});
    }
    return result;
}

void time_and_print(std::span<const Candidate> candidates, cudaStream_t stream, double sample_us, int repeats) {
    std::vector<Launch> launches;
    for (const Candidate& candidate : candidates) {
        launches.push_back(candidate.launch);
    }
    const std::vector<Timing> times = time_in_turn(launches, stream, sample_us, repeats);
    const auto rate = [&](std::size_t i) { return candidates[i].flop / times[i].median_us * 1e-6; };
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        fmt::print("  {:16} {:8.1f} us {:5.0f} TFLOP/s", candidates[i].name, times[i].median_us, rate(i));
        for (const std::size_t limit : candidates[i].limits) {
            fmt::print(", {:.1f} % of {}", 100 * rate(i) / rate(limit), candidates[limit].name);
        }
        fmt::print("\n");
    }
    std::fflush(stdout);
}

}  // namespace sluice::bench
