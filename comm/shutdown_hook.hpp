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

/// Lets `action` run in a thread of its own, `at_most` so long: afterwards it may still be at it. True if it came to
/// its end; what it throws is dropped, because the process ends for another reason, which has been said.
bool run_for(std::chrono::nanoseconds at_most, std::function<void()> action);

/// What the next attempt has to know of this one's end. Each may throw; they are called by threads of their own.
struct EndNotes {
    std::function<void(int rank, const std::string& cause, const std::vector<std::uint64_t>& chunks)> lost_rank{};
    std::function<void(ExitCode code, const ErrorText& text)> end{};
};

/// What rank 0 still does when the job has to end at once: to commit what is there, and to say how far it has come.
class ShutdownHook {
public:
    /// Called with what ends the job, by a thread of its own, while the rest of the process may be stuck.
    using Action = std::function<void(const ErrorText& reason)>;

    /// Until clear(), which waits for an action that has begun: what it looks at lives on.
    void set(Action action);
    void clear();

    /// Lets the action run, `at_most` so long; it may run on afterwards. Does nothing when there is none, or when it
    /// was called before.
    void say(const ErrorText& reason, std::chrono::nanoseconds at_most);

    /// From now on.
    void set_notes(EndNotes notes);

    /// What is called, in the same way, when rank 0 is asked to stop before its first chunk and ends at once.
    void set_stop_note(Action note);

    /// Write them down, if they are set. A second at most.
    void note_lost_rank(int rank, const std::string& cause, const std::vector<std::uint64_t>& chunks);
    void note_end(ExitCode code, const ErrorText& text);
    void note_stop(const ErrorText& text);

private:
    std::mutex mutex_;
    std::shared_ptr<Action> action_;
    std::shared_future<void> running_;
    EndNotes notes_;
    Action stop_note_;
};

}  // namespace sluice
