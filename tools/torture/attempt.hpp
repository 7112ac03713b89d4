#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::torture {

/// A descriptor of a process that tells when it has ended; the process need not be a child.
class Watch {
public:
    explicit Watch(pid_t process);
    Watch(Watch&& other) noexcept;
    Watch& operator=(Watch&&) = delete;
    ~Watch();

    /// False: it still runs after `timeout`.
    [[nodiscard]] bool ended_within(std::chrono::milliseconds timeout) const;

private:
    int file_;  // -1: it had ended before
};

/// One start of the program, alone or under mpirun. Killed and collected by the destructor if it still runs.
class Attempt {
public:
    struct Command {
        std::vector<std::string> words{};
        std::vector<std::string> variables{};  ///< "NAME=value", beside this process's own.
        std::filesystem::path folder{};        ///< Where it starts.
        std::filesystem::path log{};           ///< Its stdout and stderr.
    };
    /// Throws std::system_error.
    explicit Attempt(const Command& command);
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;
    ~Attempt();

    [[nodiscard]] pid_t process() const noexcept { return process_; }
    void send(int signal) const;

    /// The processes that it has started itself: under mpirun, the ranks.
    [[nodiscard]] std::vector<pid_t> children() const;

    [[nodiscard]] bool ended_within(std::chrono::milliseconds timeout) const { return watch_.ended_within(timeout); }

    /// Waits until it has stopped, true, or ended, false.
    [[nodiscard]] bool stops() const;

    /// Its exit code, 128 + signal; when it has not ended after two minutes, it is killed and this is `hung`. A
    /// launcher that outlives all of its ranks is killed after a while too, as if it had ended so: Open MPI 4.1's does
    /// that when a rank is killed while the two meet.
    [[nodiscard]] int wait();

    static constexpr int hung = -1;

private:
    [[nodiscard]] bool is_left_behind() const;

    pid_t process_;
    Watch watch_;
    bool over_ = false;
};

}  // namespace sluice::torture
