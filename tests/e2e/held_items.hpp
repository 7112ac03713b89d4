#pragma once

#include <sys/types.h>

#include <string>

#include "tests/support/temporary_folder.hpp"

namespace sluice::test {

/// A job's items that are held: where the app is "echo" (tests/e2e/echo_app.cpp), the process that computes one waits
/// until the test releases it.
class HeldItems {
public:
    /// The lines of the job file that the app needs.
    [[nodiscard]] std::string job_lines() const;

    /// The process `pid` has met one, and waits for release().
    [[nodiscard]] bool is_held(pid_t pid) const;

    /// From now on no item is held, or all are again.
    void release() const;
    void hold() const;

private:
    TemporaryFolder marks_;
};

}  // namespace sluice::test
