#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::test {

/// Counts threads' allocations (the malloc family, which operator new uses) and locks (pthread mutexes, rwlocks,
/// condition variables), by the role that each thread has set. tests/support/thread_audit.cpp replaces these functions
/// in the program that it is linked into; not usable with a sanitizer, which replaces them too.
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

/// While it lives, the calling thread, if it has a role, counts for `role`.
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
