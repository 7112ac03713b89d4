#pragma once

#include <atomic>
#include <cerrno>
#include <string_view>

namespace sluice {

// Places at which a test can make the process die, stop or fail. Without hooks, which only tests and their programs
// install, they do nothing.

/// What happens at the fault points of a process; all of them are set.
struct FaultHooks {
    void (*at_point)(std::string_view name) = nullptr;
    int (*at_call)(std::string_view name) = nullptr;
    int (*value_at)(std::string_view name) = nullptr;
    bool (*is_broken)(std::string_view name) = nullptr;
    void (*delay)(std::string_view name) = nullptr;
    void (*take_variable)(const char* text, int rank) = nullptr;
};

/// Null: nothing. What it points to lives as long as the process.
inline constinit std::atomic<const FaultHooks*> fault_hooks{nullptr};

[[nodiscard]] inline bool has_fault_hooks() noexcept {
    return fault_hooks.load(std::memory_order_acquire) != nullptr;
}

/// The moment `name` is reached: the process may end or stop here.
inline void fault_point(std::string_view name) {
    if (const FaultHooks* const hooks = fault_hooks.load(std::memory_order_acquire); hooks != nullptr) {
        hooks->at_point(name);
    }
}

/// What is asked for at `name` where that is a number (salt:N); 0: nothing.
[[nodiscard]] inline int fault_value(std::string_view name) {
    const FaultHooks* const hooks = fault_hooks.load(std::memory_order_acquire);
    return hooks == nullptr ? 0 : hooks->value_at(name);
}

/// The system call `name` is about to be made: an errno means that it is to fail with that one instead; 0: call it.
[[nodiscard]] inline int fault_at_call(std::string_view name) {
    const FaultHooks* const hooks = fault_hooks.load(std::memory_order_acquire);
    return hooks == nullptr ? 0 : hooks->at_call(name);
}

/// Makes the system call `name`, unless it is to fail. Returns 0 or an errno.
template <class Call>
[[nodiscard]] int errno_of(std::string_view name, Call&& call) {
    if (const int injected = fault_at_call(name); injected != 0) {
        return injected;
    }
    return call() < 0 ? errno : 0;
}

/// Where a test can make work take longer: the calling thread sleeps as long as is asked for at `name`.
inline void fault_delay(std::string_view name) {
    if (const FaultHooks* const hooks = fault_hooks.load(std::memory_order_acquire); hooks != nullptr) {
        hooks->delay(name);
    }
}

/// Whether the protocol is to be the wrong one that `name` describes (NAME=break): shared-folder, journal-first,
/// rename-over. A harness that does not notice would not notice an error either.
[[nodiscard]] inline bool is_broken(std::string_view name) {
    const FaultHooks* const hooks = fault_hooks.load(std::memory_order_acquire);
    return hooks != nullptr && hooks->is_broken(name);
}

/// Obeys the environment's SLUICE_FAULT="POINT[:RANK][:NTH]=ACTION", of which docs/verification.md has the grammar.
/// To be called once, at the start of the process that is rank `rank`. Throws Error (usage): without hooks whenever the
/// variable is set, else when it says nothing that can be done.
void take_fault_variable(int rank);

}  // namespace sluice
