#pragma once

#include <atomic>
#include <cerrno>
#include <string_view>

namespace sluice {

// Places at which a test can make the process die, stop or fail. Without hooks, which only tests and their programs
// install, they do nothing.

/// What happens at the fault points of a process; all members are set.
struct FaultHooks {
    void (*at_point)(std::string_view name) = nullptr;
    int (*at_call)(std::string_view name) = nullptr;
    int (*value_at)(std::string_view name) = nullptr;
    bool (*is_broken)(std::string_view name) = nullptr;
    void (*delay)(std::string_view name) = nullptr;
    void (*take_variable)(const char* text, int rank) = nullptr;
};

/// Null: fault points do nothing. The hooks live as long as the process.
inline constinit std::atomic<const FaultHooks*> fault_hooks{nullptr};

[[nodiscard]] inline bool has_fault_hooks() noexcept {
    return fault_hooks.load(std::memory_order_acquire) != nullptr;
}

/// Marks the moment `name`: with hooks, the process may end or stop here.
inline void fault_point(std::string_view name) {
    if (const FaultHooks* const hooks = fault_hooks.load(std::memory_order_acquire); hooks != nullptr) {
        hooks->at_point(name);
    }
}

/// The number that a test has set for `name` (salt:N); 0: none.
[[nodiscard]] inline int fault_value(std::string_view name) {
    const FaultHooks* const hooks = fault_hooks.load(std::memory_order_acquire);
    return hooks == nullptr ? 0 : hooks->value_at(name);
}

/// To be called before the system call `name`. Returns the errno with which it has to fail instead, or 0: make it.
[[nodiscard]] inline int fault_at_call(std::string_view name) {
    const FaultHooks* const hooks = fault_hooks.load(std::memory_order_acquire);
    return hooks == nullptr ? 0 : hooks->at_call(name);
}

/// Makes the system call `name`, unless a test has it fail. Returns 0 or an errno.
template <class Call>
[[nodiscard]] int errno_of(std::string_view name, Call&& call) {
    if (const int injected = fault_at_call(name); injected != 0) {
        return injected;
    }
    return call() < 0 ? errno : 0;
}

/// Lets a test slow down work: the calling thread sleeps for as long as is set for `name`.
inline void fault_delay(std::string_view name) {
    if (const FaultHooks* const hooks = fault_hooks.load(std::memory_order_acquire); hooks != nullptr) {
        hooks->delay(name);
    }
}

/// Whether a test has replaced the protocol by the wrong one that `name` describes (NAME=break): shared-folder,
/// journal-first, rename-over. A harness that does not notice these would not notice an error either.
[[nodiscard]] inline bool is_broken(std::string_view name) {
    const FaultHooks* const hooks = fault_hooks.load(std::memory_order_acquire);
    return hooks != nullptr && hooks->is_broken(name);
}

/// Applies the environment variable SLUICE_FAULT="POINT[:RANK][:NTH]=ACTION" (grammar: docs/verification.md). Call
/// once, at the start of the process of rank `rank`. Throws Error (usage) if the variable is set but there are no
/// hooks, or if it cannot be understood.
void take_fault_variable(int rank);

}  // namespace sluice
