#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace sluice::test {

enum class Stdout {
    caught,
    full,    ///< Every write fails with ENOSPC.
    unread,  ///< A pipe whose reader has gone away.
    closed
};

struct ProcessOptions {
    std::filesystem::path folder;  ///< Where it starts.
    Stdout out = Stdout::caught;
    std::optional<unsigned long> largest_file = {};  ///< RLIMIT_FSIZE in bytes, its own captured stderr included.
    std::filesystem::path err = {};                  ///< Where stderr goes; empty: it is caught.
};

struct ProcessResult {
    int exit_code = -1;  ///< 128 + the signal's number when one ended it.
    std::string out;
    std::string err;

    /// The lines of stderr that announce an error of sluice, or that it has stopped early.
    [[nodiscard]] std::vector<std::string> errors() const;

    /// The lines of stderr but sluice's warnings and its progress: a test's machine may be smaller than its job.
    [[nodiscard]] std::string besides_warnings() const;
};

/// One program, started without a shell, stdin empty. Killed and collected by the destructor if it still runs.
class Process {
public:
    Process(const std::vector<std::string>& words, const ProcessOptions& options);
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    void send(int signal) const;

    /// What it has written to its caught stderr so far.
    [[nodiscard]] std::string err() const;

    /// Waits for its end. Fails the test when it takes longer than longest_run.
    [[nodiscard]] ProcessResult wait();

private:
    TemporaryFolder caught_;  // files, so that no pipe can fill up
    pid_t pid_ = 0;
};

}  // namespace sluice::test
