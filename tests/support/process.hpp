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
    unread,  ///< A pipe without a reader.
    closed
};

struct ProcessOptions {
    std::filesystem::path folder;  ///< Working folder.
    Stdout out = Stdout::caught;
    std::optional<unsigned long> largest_file =
        {};                          ///< RLIMIT_FSIZE in bytes, which also applies to its captured stderr.
    std::filesystem::path err = {};  ///< File for stderr; empty: captured.
};

struct ProcessResult {
    int exit_code = -1;  ///< 128 + the signal's number if a signal ended it.
    std::string out;
    std::string err;

    /// Lines of stderr with an error of sluice, or the notice of an early stop.
    [[nodiscard]] std::vector<std::string> errors() const;

    /// Lines of stderr without sluice's warnings and progress, which depend on the test's machine.
    [[nodiscard]] std::string besides_warnings() const;
};

/// A program started without a shell, with empty stdin and this process's environment, but without its launcher's
/// variables and the user's cache. The destructor kills it if it still runs, and its ranks.
class Process {
public:
    Process(const std::vector<std::string>& words, const ProcessOptions& options);
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    void send(int signal) const;

    /// Its captured stderr so far.
    [[nodiscard]] std::string err() const;

    /// Waits for its end; once the test's patience is over, fails it and kills the program.
    [[nodiscard]] ProcessResult wait();

private:
    void kill() const;

    TemporaryFolder caught_;  // files, so that no pipe can fill up
    pid_t pid_ = 0;
};

}  // namespace sluice::test
