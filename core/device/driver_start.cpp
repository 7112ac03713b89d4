#include "core/device/driver_start.hpp"

#include <system_error>
#include <utility>

#include "core/device/cuda.hpp"

namespace sluice {

DriverStart::DriverStart(std::vector<std::uint32_t> gpus, const DriverTurn& turn) {
    const auto start = [this, gpus = std::move(gpus), turn](const std::stop_token& stop) {
        if (turn.wait) {
            turn.wait(stop);
            begin_ = Clock::now();
        }
        turn_came_.count_down();
        if (!stop.stop_requested() && start_cuda_contexts(gpus)) {
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
