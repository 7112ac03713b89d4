#include <cuda_runtime_api.h>

#include <algorithm>
#include <numeric>
#include <system_error>
#include <utility>

#include "core/device/cuda.hpp"
#include "core/device/driver_start.hpp"

namespace sluice {

bool built_with_cuda() noexcept {
    return true;
}

DriverStart::DriverStart(std::vector<std::uint32_t> gpus) {
    // One after the other: the driver makes no two at once, and so the first is there before the last.
    const auto start = [this, gpus = std::move(gpus)]() mutable {
        if (gpus.empty()) {
            gpus.resize(cuda_device_count());
            std::iota(gpus.begin(), gpus.end(), 0U);
        }
        const bool all_there = std::ranges::all_of(gpus, [](std::uint32_t gpu) {
            return cudaSetDevice(static_cast<int>(gpu)) == cudaSuccess &&
                   cudaFree(nullptr) == cudaSuccess;  // the customary way to ask for a GPU's context
        });
        if (all_there && !gpus.empty()) {
            end_.store(Clock::now());
        }
    };
    try {
        thread_ = std::jthread(start);
    } catch (const std::system_error&) {  // no thread to be early with: the drivers start them
    }
}

}  // namespace sluice
