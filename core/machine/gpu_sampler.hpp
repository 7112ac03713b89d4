#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "core/machine/gpu_use.hpp"
#include "core/machine/placement.hpp"

namespace sluice {

struct GpuSampling {
    std::vector<std::string> gpus{};  ///< UUIDs, or addresses. Empty: nothing is sampled.
    std::chrono::nanoseconds period = std::chrono::seconds(1);
    std::string library = "libnvidia-ml.so.1";
};

/// UUIDs, or addresses, of the GPUs that rank `me` of a node samples: those that it drives and no lower rank does.
/// Pure.
[[nodiscard]] std::vector<std::string> gpus_to_sample(const RankLayout& layout, const Placement& placement,
                                                      std::size_t me);

/// Samples GPUs once per period, on a thread of its own, from its construction to finish().
class GpuSampler {
public:
    explicit GpuSampler(GpuSampling sampling);
    GpuSampler(const GpuSampler&) = delete;
    GpuSampler& operator=(const GpuSampler&) = delete;

    /// Takes a last sample of each GPU and ends the thread. Call once.
    [[nodiscard]] GpuUses finish();

private:
    void sample(const std::stop_token& stop);

    GpuSampling sampling_;
    GpuUses uses_{};  // the thread's, until it has ended
    std::jthread thread_;
};

}  // namespace sluice
