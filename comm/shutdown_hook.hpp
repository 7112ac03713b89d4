#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace sluice {

/// Runs `action` in its own thread and waits up to `at_most`; it may run on afterwards. Where the system starts no
/// thread, runs it in this one. True if it finished; its exception is dropped, because the process ends for another,
/// already reported reason.
bool run_for(std::chrono::nanoseconds at_most, std::function<void()> action);

/// Record this attempt's end for the next one. Each may throw, and is called in its own thread.
struct EndNotes {
    std::function<void(int rank, const std::string& cause, const std::vector<std::uint64_t>& chunks)> lost_rank{};
    std::function<void(ExitCode code, const ErrorText& text)> end{};
};

/// What a process still does when the job ends, set once there is something to do: every rank notes the end for the
/// next attempt, and rank 0 commits results and reports progress when the job has to end at once.
class ShutdownHook {
public:
    /// Called with the job's exit code and the reason, in its own thread, while the rest of the process may hang.
    using Action = std::function<void(ExitCode code, const ErrorText& reason)>;

    /// Rank 0's. Valid until clear(), which waits for a running action, so the action's data must live until then.
    void set(Action action);
    void clear();

    /// Runs the action and waits up to `at_most`; it may run on afterwards. Does nothing without an action, or on a
    /// second call.
    void run(ExitCode code, const ErrorText& reason, std::chrono::nanoseconds at_most);

    void set_notes(EndNotes notes);

    /// Called in the same way when rank 0 is asked to stop before its first chunk and ends at once.
    void set_stop_note(std::function<void(const ErrorText& text)> note);

    /// Call the notes, if set, and wait for at most half a second.
    void note_lost_rank(int rank, const std::string& cause, const std::vector<std::uint64_t>& chunks);
    void note_end(ExitCode code, const ErrorText& text);
    void note_stop(const ErrorText& text);

private:
    std::mutex mutex_;
    std::shared_ptr<Action> action_;
    std::shared_future<void> running_;
    EndNotes notes_;
    std::function<void(const ErrorText& text)> stop_note_;
};

}  // namespace sluice
