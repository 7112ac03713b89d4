#include "tools/bench/ladder/windows.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/device/cuda_error.hpp"
#include "tools/bench/ladder/energy_steps.hpp"

namespace sluice::ladder {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_readings{5};
constexpr std::chrono::microseconds long_launch{10};  // it waits for room in the queue

/// A meter's readings during a window.
class Readings {
public:
    explicit Readings(const GpuMeter& meter) : meter_(meter) {}

    void take() {
        const Clock::time_point now = Clock::now();
        const GpuReading reading = meter_.read();
        if (reading.clock_mhz) {
            clocks_ += *reading.clock_mhz;
            ++count_;
        }
        if (reading.joules) {
            steps_.add(std::chrono::duration<double>(now - begin_).count(), *reading.joules);
        }
        next_ = now + between_readings;
    }
    void take_if_due() {
        if (Clock::now() >= next_) {
            take();
        }
    }

    [[nodiscard]] std::optional<double> clock_mhz() const {
        return count_ > 0 ? std::optional(clocks_ / count_) : std::nullopt;
    }
    [[nodiscard]] std::optional<double> watts() const { return steps_.watts(); }

private:
    const GpuMeter& meter_;
    Clock::time_point begin_ = Clock::now();
    Clock::time_point next_ = begin_ + between_readings;
    double clocks_ = 0;
    int count_ = 0;
    EnergySteps steps_;
};

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
    Readings readings(meter_);
    check_cuda(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    for (int i = 0; i < calls; ++i) {
        const Clock::time_point before = Clock::now();
        product(next_++ % operands_, stream_);
        // With a full queue launching lasts nearly as long as the window; with an emptier one the GPU might run dry.
        if (Clock::now() - before > long_launch) {
            readings.take_if_due();
        }
    }
    check_cuda(cudaEventRecord(end_, stream_), "cudaEventRecord");
    while (cudaEventQuery(end_) == cudaErrorNotReady) {
        readings.take();
        std::this_thread::sleep_for(between_readings);
    }
    check_cuda(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
    const double call = 1e-3 * static_cast<double>(ms) / calls;
    const std::optional<double> watts = readings.watts();
    return {.seconds_per_call = call,
            .clock_mhz = readings.clock_mhz(),
            .joules_per_call = watts ? std::optional(*watts * call) : std::nullopt};
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
