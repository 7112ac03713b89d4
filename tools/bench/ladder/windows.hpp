#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <optional>
#include <vector>

#include "tools/bench/ladder/gpu_meter.hpp"

namespace sluice::ladder {

/// Enqueues one product of the operands with this number, of which there are several in turn.
using Product = std::function<void(std::size_t operands, cudaStream_t)>;

/// What was seen while one candidate ran for some time without a pause.
struct Window {
    double seconds_a_call = 0;
    std::optional<double> clock_mhz{};  ///< Mean.
    std::optional<double> joules_a_call{};
};

/// Times products on one stream.
class Windows {
public:
    Windows(std::size_t operands, cudaStream_t stream);
    Windows(const Windows&) = delete;
    Windows& operator=(const Windows&) = delete;
    ~Windows();

    /// Median of single calls, the device idle before each.
    [[nodiscard]] double single_call(const Product& product, int calls = 7);

    /// Calls without a pause for at least this long.
    [[nodiscard]] Window sustained(const Product& product, double seconds);

    /// Two candidates in windows A B B A, after one of B that is not counted: their means. So the first window meets a
    /// device as warm as the others do, and drift falls on both.
    [[nodiscard]] std::vector<Window> in_turn(const Product& a, const Product& b, double seconds);

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
