#include "comm/shutdown_hook.hpp"

#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace sluice {
namespace {

/// The watching thread may wait so long: after a second without a look HangWatch would take the process for suspended.
constexpr std::chrono::milliseconds longest_note{500};

}  // namespace

bool run_for(std::chrono::nanoseconds at_most, std::function<void()> action) {
    const auto task = std::make_shared<std::packaged_task<void()>>(std::move(action));
    const std::future<void> end = task->get_future();
    try {
        std::thread([task] { (*task)(); }).detach();
    } catch (const std::system_error&) {  // no thread: better without a limit than not at all
        (*task)();
    }
    return end.wait_for(at_most) == std::future_status::ready;
}

void ShutdownHook::set(Action action) {
    const std::lock_guard lock(mutex_);
    action_ = std::make_shared<Action>(std::move(action));
}

void ShutdownHook::clear() {
    std::shared_future<void> running;
    {
        const std::lock_guard lock(mutex_);
        action_.reset();
        running = std::move(running_);
    }
    if (running.valid()) {
        running.wait();
    }
}

void ShutdownHook::run(ExitCode code, const ErrorText& reason, std::chrono::nanoseconds at_most) {
    std::shared_ptr<std::packaged_task<void()>> task;
    {
        const std::lock_guard lock(mutex_);
        if (action_ == nullptr) {
            return;
        }
        task = std::make_shared<std::packaged_task<void()>>(
            [action = std::exchange(action_, nullptr), code, reason] { (*action)(code, reason); });
        running_ = task->get_future().share();
    }
    run_for(at_most, [task] { (*task)(); });
}

void ShutdownHook::set_notes(EndNotes notes) {
    const std::lock_guard lock(mutex_);
    notes_ = std::move(notes);
}

void ShutdownHook::set_stop_note(std::function<void(const ErrorText& text)> note) {
    const std::lock_guard lock(mutex_);
    stop_note_ = std::move(note);
}

void ShutdownHook::note_lost_rank(int rank, const std::string& cause, const std::vector<std::uint64_t>& chunks) {
    const std::lock_guard lock(mutex_);
    if (notes_.lost_rank) {
        run_for(longest_note, [note = notes_.lost_rank, rank, cause, chunks] { note(rank, cause, chunks); });
    }
}

void ShutdownHook::note_end(ExitCode code, const ErrorText& text) {
    const std::lock_guard lock(mutex_);
    if (notes_.end) {
        run_for(longest_note, [note = notes_.end, code, text] { note(code, text); });
    }
}

void ShutdownHook::note_stop(const ErrorText& text) {
    const std::lock_guard lock(mutex_);
    if (stop_note_) {
        run_for(longest_note, [note = stop_note_, text] { note(text); });
    }
}

}  // namespace sluice
