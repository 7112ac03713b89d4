#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::torture {

/// A descriptor that signals a process's end; the process need not be a child.
class Watch {
public:
    explicit Watch(pid_t process);
    Watch(Watch&& other) noexcept;
    Watch& operator=(Watch&&) = delete;
    ~Watch();

    /// Returns false if it still runs after `timeout`.
    [[nodiscard]] bool ended_within(std::chrono::milliseconds timeout) const;

private:
    int file_;  // -1: already ended
};

/// One start of the program, alone or under mpirun. The destructor kills and reaps it if it still runs.
class Attempt {
public:
    struct Command {
        std::vector<std::string> words{};
        std::vector<std::string> variables{};  ///< "NAME=value", in addition to this process's own.
        std::filesystem::path folder{};        ///< Working directory.
        std::filesystem::path log{};           ///< File for its stdout and stderr.
    };
    /// Throws std::system_error.
    explicit Attempt(const Command& command);
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;
    ~Attempt();

    [[nodiscard]] pid_t process() const noexcept { return process_; }
    void send(int signal) const;

    /// Its child processes: under mpirun, the ranks.
    [[nodiscard]] std::vector<pid_t> children() const;

    [[nodiscard]] bool ended_within(std::chrono::milliseconds timeout) const { return watch_.ended_within(timeout); }

    /// Blocks until it has stopped (true) or ended (false).
    [[nodiscard]] bool stops() const;

    /// Returns its exit code, or 128 + signal; after two minutes kills it and returns `hung`. A launcher that outlives
    /// all of its ranks is also killed after a while, as if it had ended so: Open MPI 4.1's hangs like that when a rank
    /// is killed while they connect.
    [[nodiscard]] int wait();

    static constexpr int hung = -1;

private:
    [[nodiscard]] bool is_left_behind() const;

    pid_t process_;
    Watch watch_;
    bool over_ = false;
};

}  // namespace sluice::torture
