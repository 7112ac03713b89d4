#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::test {

/// Counts what threads allocate (the malloc family, through which operator new goes) and lock (pthread mutexes,
/// rwlocks, condition variables), by the role that each thread has given itself. tests/support/thread_audit.cpp
/// replaces these functions in the program that it is linked into: not together with a sanitizer, which replaces them
/// too.
enum class ThreadRole { other, driver, comm, stream, library };

struct AuditCounts {
    std::uint64_t allocations = 0;
    std::uint64_t locks = 0;
};

/// Sets the calling thread's role and returns the one it had.
ThreadRole become(ThreadRole role) noexcept;

/// Starts counting from zero.
void start_audit() noexcept;
void stop_audit() noexcept;
[[nodiscard]] AuditCounts audited(ThreadRole role) noexcept;

/// What the calling thread does meanwhile counts for `role`, if it has a role at all.
class RoleScope {
public:
    explicit RoleScope(ThreadRole role) noexcept : before_(become(role)) {
        if (before_ == ThreadRole::other) {
            become(before_);
        }
    }
    ~RoleScope() { become(before_); }
    RoleScope(const RoleScope&) = delete;
    RoleScope& operator=(const RoleScope&) = delete;

private:
    ThreadRole before_;
};

}  // namespace sluice::test
