#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace sluice::test {

/// No test waits longer for a process or for what it does.
inline constexpr std::chrono::seconds longest_run{60};

/// The processes behind `pids`, whose ends can be waited for, children or not, and however their numbers are reused.
class EndWatch {
public:
    explicit EndWatch(const std::vector<pid_t>& pids);
    EndWatch(const EndWatch&) = delete;
    EndWatch& operator=(const EndWatch&) = delete;
    ~EndWatch();

    /// True as soon as all of them have ended, a zombie included; false when `at_most` has passed.
    [[nodiscard]] bool wait(std::chrono::nanoseconds at_most) const;

private:
    std::vector<int> descriptors_;
};

/// CPU seconds that all threads of `pid` have used; 0 when it is gone.
[[nodiscard]] double cpu_seconds(pid_t pid);

/// A signal that was sent to the process has not been delivered yet; false when it is gone.
[[nodiscard]] bool is_pending(pid_t pid, int signal);

/// The local ranks that a launcher has started, in rank order: its children with OMPI_COMM_WORLD_RANK in their
/// environment.
[[nodiscard]] std::vector<pid_t> ranks_of(pid_t launcher);

/// The pause between two looks; what is waited for is always a condition.
void pause_between_looks();

/// Polls until `condition` holds; false when it does not within longest_run.
template <class Condition>
[[nodiscard]] bool eventually(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + longest_run;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        pause_between_looks();
    }
    return true;
}

}  // namespace sluice::test
