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

DriverStart::DriverStart(std::vector<std::uint32_t> gpus, DriverTurn turn) {
    const auto start = [this, gpus = std::move(gpus), turn](const std::stop_token& stop) mutable {
        if (turn.wait) {
            turn.wait(stop);
            begin_ = Clock::now();
        }
        turn_came_.count_down();
        const std::uint32_t count = stop.stop_requested() ? 0 : cuda_device_count();
        if (gpus.empty()) {
            gpus.resize(count);
            std::iota(gpus.begin(), gpus.end(), 0U);
        }
        // One after the other: the driver makes no two at once, and so the first is there before the last.
        const bool all_there = std::ranges::all_of(gpus, [&](std::uint32_t gpu) {
            return gpu < count && cudaSetDevice(static_cast<int>(gpu)) == cudaSuccess &&
                   cudaFree(nullptr) == cudaSuccess;  // the customary way to ask for a GPU's context
        });
        if (all_there && !gpus.empty()) {
            end_.store(Clock::now());
        }
        if (turn.pass_on) {
            turn.pass_on();
        }
    };
    try {
        thread_ = std::jthread(start);
    } catch (const std::system_error&) {  // no thread to be early with: the drivers start them
        turn_came_.count_down();
        if (turn.pass_on) {
            turn.pass_on();
        }
    }
}

}  // namespace sluice
