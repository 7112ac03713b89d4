#include "tools/doctor/slurm_version.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

extern char** environ;

namespace sluice {
namespace {

constexpr int patience_ms = 1000;

/// Output of `srun --version`; empty if it cannot be started.
std::string version_text() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return {};
    }
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string program = "srun";
    std::string option = "--version";
    std::array<char*, 3> words{program.data(), option.data(), nullptr};
    pid_t child = 0;
    const int failed = ::posix_spawnp(&child, program.c_str(), &actions, nullptr, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    std::string text;
    if (failed == 0) {
        std::array<char, 256> part{};
        pollfd ready{.fd = ends[0], .events = POLLIN, .revents = 0};
        ssize_t got = 1;
        while (got > 0 && ::poll(&ready, 1, patience_ms) > 0) {
            got = ::read(ends[0], part.data(), part.size());
            text.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        }
        if (got > 0) {  // it asks a controller that does not answer
            ::kill(child, SIGKILL);
        }
        while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    ::close(ends[0]);
    return text;
}

}  // namespace

std::string SlurmVersion::text() const {
    return fmt::format("{:02}.{:02}", year, month);
}

std::optional<SlurmVersion> parse_slurm_version(std::string_view text) {
    constexpr std::string_view name = "slurm";
    if (!text.starts_with(name) || text.find(' ') == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(text.find(' ') + 1);
    const char* const end = text.data() + text.size();
    SlurmVersion version;
    const auto [dot, bad_year] = std::from_chars(text.data(), end, version.year);
    if (bad_year != std::errc() || dot == end || *dot != '.') {
        return std::nullopt;
    }
    const auto [rest, bad_month] = std::from_chars(dot + 1, end, version.month);
    return bad_month == std::errc() ? std::optional(version) : std::nullopt;
}

std::optional<SlurmVersion> read_slurm_version() {
    return parse_slurm_version(version_text());
}

}  // namespace sluice
