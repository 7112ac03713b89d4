#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace sluice::test {

/// Longest time that a test waits for a process or an effect of it.
inline constexpr std::chrono::seconds longest_run{SLUICE_LONGEST_RUN};

/// The same at this point of the test: much less once it has failed, so that it says so before ctest ends it.
[[nodiscard]] std::chrono::seconds patience();

/// Waits for the ends of processes, children or not, even if their numbers are reused.
class EndWatch {
public:
    explicit EndWatch(const std::vector<pid_t>& pids);
    EndWatch(const EndWatch&) = delete;
    EndWatch& operator=(const EndWatch&) = delete;
    ~EndWatch();

    /// Returns true as soon as all have ended (zombies count as ended), false after `at_most`.
    [[nodiscard]] bool wait(std::chrono::nanoseconds at_most) const;

private:
    std::vector<int> descriptors_;
};

/// CPU seconds used by all threads of `pid`; 0 if it is gone.
[[nodiscard]] double cpu_seconds(pid_t pid);

/// Whether a signal sent to the process is not delivered yet; false if the process is gone.
[[nodiscard]] bool is_pending(pid_t pid, int signal);

/// Local ranks started by a launcher, in rank order: its children with OMPI_COMM_WORLD_RANK in their environment.
[[nodiscard]] std::vector<pid_t> ranks_of(pid_t launcher);

/// Pause between two polls of a condition.
void pause_between_looks();

/// Polls until `condition` holds; returns false if it does not within the test's patience.
template <class Condition>
[[nodiscard]] bool eventually(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + patience();
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        pause_between_looks();
    }
    return true;
}

}  // namespace sluice::test
