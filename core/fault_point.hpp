#pragma once

#include <string_view>

namespace sluice {

// Places at which a test build (SLUICE_FAULTS=ON) can be made to die, stop or fail. In every other build they are
// empty, and a program that is asked for a fault refuses to start.
#ifdef SLUICE_FAULTS
inline constexpr bool has_fault_points = true;

/// The moment `name` is reached: the process may end or stop here.
void fault_point(std::string_view name);

/// The system call `name` is about to be made: an errno means that it is to fail with that one instead; 0: call it.
[[nodiscard]] int fault_at_call(std::string_view name);

/// What is asked for at `name` where that is a number (salt:N); 0: nothing.
[[nodiscard]] int fault_value(std::string_view name);

/// Whether the protocol is to be the wrong one that `name` describes (NAME=break): no-epoch, journal-first,
/// rename-over. A harness that does not notice would not notice an error either.
[[nodiscard]] bool is_broken(std::string_view name);
#else
inline constexpr bool has_fault_points = false;

inline void fault_point(std::string_view) noexcept {}

[[nodiscard]] inline int fault_at_call(std::string_view) noexcept {
    return 0;
}

[[nodiscard]] inline int fault_value(std::string_view) noexcept {
    return 0;
}

[[nodiscard]] inline bool is_broken(std::string_view) noexcept {
    return false;
}
#endif

/// Obeys the environment's SLUICE_FAULT="POINT[:RANK][:NTH]=ACTION", of which docs/output-protocol.md has the grammar.
/// To be called once, at the start of the process that is rank `rank`. Throws Error (usage): in a build without fault
/// points whenever the variable is set, else when it says nothing that can be done.
void take_fault_variable(int rank);

}  // namespace sluice
