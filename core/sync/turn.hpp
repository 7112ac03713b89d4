#pragma once

#include <semaphore.h>

#include <chrono>
#include <stop_token>

namespace sluice {

/// A turn that one thread gives and another waits for, which may be one of another process: in memory that both map,
/// made by one of them and never destroyed.
class Turn {
public:
    Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    void give() noexcept;

    /// Waits until it is given, `stop` is requested, or `at_most` is over. Once.
    void wait(const std::stop_token& stop, std::chrono::nanoseconds at_most) noexcept;

private:
    sem_t given_{};
};

}  // namespace sluice
