#include "core/device/driver_start.hpp"

#include <algorithm>
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
        if (!stop.stop_requested() && start_cuda_contexts(gpus, [this](std::uint32_t gpu) { note_started(gpu); })) {
            end_.store(Clock::now());
        }
        note_over();
        if (turn.pass_on) {
            turn.pass_on();
        }
    };
    try {
        thread_ = std::jthread(start);
    } catch (const std::system_error&) {  // no thread to be early with: the drivers start them
        turn_came_.count_down();
        note_over();
        if (turn.pass_on) {
            turn.pass_on();
        }
    }
}

void DriverStart::wait_for(std::uint32_t gpu) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_over_ || std::ranges::find(started_, gpu) != started_.end(); });
}

void DriverStart::note_started(std::uint32_t gpu) {
    {
        const std::scoped_lock lock(mutex_);
        started_.push_back(gpu);
    }
    changed_.notify_all();
}

void DriverStart::note_over() {
    {
        const std::scoped_lock lock(mutex_);
        is_over_ = true;
    }
    changed_.notify_all();
}

}  // namespace sluice
