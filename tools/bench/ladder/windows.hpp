#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <optional>
#include <vector>

#include "tools/bench/ladder/gpu_meter.hpp"

namespace sluice::ladder {

/// Enqueues one product of the given set of operands, of which there are several, used in turn.
using Product = std::function<void(std::size_t operands, cudaStream_t)>;

/// Measurements of one candidate running back to back for some time.
struct Window {
    double seconds_per_call = 0;
    std::optional<double> clock_mhz{};  ///< Mean.
    std::optional<double> joules_per_call{};
};

/// Times products on one stream.
class Windows {
public:
    Windows(std::size_t operands, cudaStream_t stream);
    Windows(const Windows&) = delete;
    Windows& operator=(const Windows&) = delete;
    ~Windows();

    /// Median of single calls, each on an idle device.
    [[nodiscard]] double single_call(const Product& product, int calls = 7);

    /// Calls back to back for at least `seconds`.
    [[nodiscard]] Window sustained(const Product& product, double seconds);

    /// Means of candidates over windows A B B A, or A B C C B A, after an uncounted one of the last: the device is
    /// equally warm in all windows, and drift affects all alike.
    [[nodiscard]] std::vector<Window> in_turn(const std::vector<Product>& candidates, double seconds);

private:
    double time(const Product& product, int calls);

    std::size_t operands_;
    std::size_t next_ = 0;
    cudaStream_t stream_;
    cudaEvent_t begin_{};
    cudaEvent_t end_{};
    GpuMeter meter_;
};

}  // namespace sluice::ladder
