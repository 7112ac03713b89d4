#include "slurm/child.hpp"

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
#include <string_view>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/text/parse.hpp"

namespace sluice {
namespace {

constexpr std::size_t most_kept = 65'536;
constexpr std::size_t enough_complaint = 260;  // bytes, after which no further line is told
constexpr std::chrono::milliseconds between_looks{100};

struct Pipe {
    Pipe() {
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
            throw Error(ExitCode::unavailable, {.id = "E-SLM-074",
                                                .where = "pipe2",
                                                .what = system_text(errno),
                                                .hint = "raise the limit of open files"});
        }
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    void close_end(std::size_t end) {
        if (ends[end] >= 0) {
            ::close(ends[end]);
            ends[end] = -1;
        }
    }
    std::array<int, 2> ends{-1, -1};  // read end, write end
};

struct SpawnFiles {
    SpawnFiles() { posix_spawn_file_actions_init(&actions); }
    SpawnFiles(const SpawnFiles&) = delete;
    SpawnFiles& operator=(const SpawnFiles&) = delete;
    ~SpawnFiles() { posix_spawn_file_actions_destroy(&actions); }
    posix_spawn_file_actions_t actions{};
};

struct SpawnSignals {
    SpawnSignals() {
        posix_spawnattr_init(&attributes);
        sigset_t set;
        sigemptyset(&set);
        posix_spawnattr_setsigmask(&attributes, &set);
        sigaddset(&set, SIGPIPE);
        sigaddset(&set, SIGXFSZ);
        posix_spawnattr_setsigdefault(&attributes, &set);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    SpawnSignals(const SpawnSignals&) = delete;
    SpawnSignals& operator=(const SpawnSignals&) = delete;
    ~SpawnSignals() { posix_spawnattr_destroy(&attributes); }
    posix_spawnattr_t attributes{};
};

std::vector<std::string>& kept_environment() {
    static std::vector<std::string> kept;
    return kept;
}

std::vector<std::string> current_environment() {
    std::vector<std::string> all;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        all.emplace_back(*variable);
    }
    return all;
}

/// Variables set by an enclosing job or step would act as options.
bool passes(std::string_view variable) {
    static constexpr std::array<std::string_view, 7> kept_back{"SLURM_",  "SLURMD_", "SBATCH_", "SRUN_",
                                                               "SALLOC_", "SQUEUE_", "SCANCEL_"};
    const std::string_view name = variable.substr(0, variable.find('='));
    return name == "SLURM_CONF" || name == "SLURM_CLUSTERS" ||
           std::none_of(kept_back.begin(), kept_back.end(),
                        [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// For posix_spawn, which does not write there.
std::vector<char*> pointers_to(const std::vector<std::string>& words) {
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (const std::string& word : words) {
        pointers.push_back(const_cast<char*>(word.c_str()));  // NOLINT
    }
    pointers.push_back(nullptr);
    return pointers;
}

pid_t spawn(const std::vector<std::string>& words, const Pipe& out, const Pipe& err) {
    std::vector<std::string> variables = kept_environment().empty() ? current_environment() : kept_environment();
    std::erase_if(variables, [](const std::string& variable) { return !passes(variable); });
    const std::vector<char*> arguments = pointers_to(words);
    const std::vector<char*> environment = pointers_to(variables);
    SpawnFiles files;
    posix_spawn_file_actions_addopen(&files.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files.actions, out.ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files.actions, err.ends[1], STDERR_FILENO);
    const SpawnSignals signals;
    pid_t pid = 0;
    const int error =
        ::posix_spawnp(&pid, arguments[0], &files.actions, &signals.attributes, arguments.data(), environment.data());
    if (error != 0) {
        throw Error(ExitCode::unavailable, {.id = "E-SLM-074",
                                            .where = escaped(words[0]),
                                            .what = fmt::format("cannot start it: {}", system_text(error)),
                                            .hint = "is Slurm installed here, and in PATH?"});
    }
    return pid;
}

/// Appends available bytes; false at the end of the pipe.
bool read_some(int end, std::string& to) {
    std::array<char, 4096> bytes{};
    const ssize_t got = ::read(end, bytes.data(), bytes.size());
    if (got < 0) {
        return errno == EINTR;
    }
    const std::size_t room = most_kept - std::min(to.size(), most_kept);
    to.append(bytes.data(), std::min(static_cast<std::size_t>(got), room));
    return got > 0;
}

/// A process that is to be waited for.
class Child {
public:
    Child(pid_t pid, const std::string& name) : pid_(pid), name_(name) {}

    /// Throws Error (unavailable, E-SLM-113) where the system does not tell.
    [[nodiscard]] bool has_ended() {
        if (!status_) {
            int status = 0;
            const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
            if (ended < 0 && errno != EINTR) {
                throw no_answer(name_.c_str(), "cannot learn how it ended: " + system_text(errno));
            }
            if (ended == pid_) {
                status_ = status;
            }
        }
        return status_.has_value();
    }

    /// Of one that has ended.
    [[nodiscard]] int exit_code() const {
        return WIFEXITED(*status_) ? WEXITSTATUS(*status_) : 128 + WTERMSIG(*status_);
    }

    void kill() const {
        if (!status_) {
            ::kill(pid_, SIGKILL);
            while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
            }
        }
    }

private:
    pid_t pid_;
    const std::string& name_;
    std::optional<int> status_;
};

/// Reads until the child has closed both pipes, or has ended: what it has left behind may keep them. False if `end` is
/// reached first, or a stop is requested.
bool read_both(Pipe& out, Pipe& err, ChildResult& result, Child& child, Instant end, const std::stop_token& stop) {
    out.close_end(1);
    err.close_end(1);
    while (out.ends[0] >= 0 || err.ends[0] >= 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
        if (left.count() <= 0 || stop.stop_requested()) {
            return false;
        }
        const bool has_ended = child.has_ended();  // before the last look at what it has said
        const auto wait = has_ended ? std::chrono::milliseconds(0) : std::min(left, between_looks);
        std::array<pollfd, 2> files{{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
        if (::poll(files.data(), files.size(), static_cast<int>(wait.count())) == 0) {
            if (has_ended) {
                return true;
            }
            continue;
        }
        if (files[0].revents != 0 && !read_some(out.ends[0], result.out)) {
            out.close_end(0);
        }
        if (files[1].revents != 0 && !read_some(err.ends[0], result.err)) {
            err.close_end(0);
        }
    }
    return true;
}

/// False if `end` is reached before it ends, or a stop is requested.
bool wait_for_end(Child& child, Instant end, const std::stop_token& stop) {
    for (std::chrono::milliseconds pause{1}; !child.has_ended(); pause = std::min(2 * pause, between_looks)) {
        if (Clock::now() >= end || stop.stop_requested()) {
            return false;
        }
        ::poll(nullptr, 0, static_cast<int>(pause.count()));
    }
    return true;
}

}  // namespace

std::optional<ChildResult> run_child(const std::vector<std::string>& words, std::chrono::seconds at_most,
                                     const std::stop_token& stop) {
    Pipe out;
    Pipe err;
    Child child(spawn(words, out, err), words[0]);
    const Instant end = Clock::now() + at_most;
    ChildResult result;
    if (!read_both(out, err, result, child, end, stop) || !wait_for_end(child, end, stop)) {
        child.kill();
        return std::nullopt;
    }
    result.exit_code = child.exit_code();
    return result;
}

void keep_environment() {
    kept_environment() = current_environment();
}

Error no_answer(const char* program, std::string what) {
    return {ExitCode::unavailable,
            {.id = "E-SLM-113",
             .where = program,
             .what = std::move(what),
             .hint = "check with `sinfo` that Slurm's controller is up"}};
}

Error no_answer(const char* program, const std::optional<ChildResult>& result, std::chrono::seconds at_most) {
    return no_answer(program, result ? with_complaint(fmt::format("failed with {}", result->exit_code), *result)
                                     : fmt::format("did not answer within {} s", at_most.count()));
}

bool knows_no_such_job(const ChildResult& result) {
    return result.exit_code != 0 && (result.err.find("Invalid job id") != std::string::npos ||
                                     result.err.find("Invalid job_id") != std::string::npos);
}

std::string_view line_of(std::string_view word, std::string_view lines) {
    while (!lines.empty()) {
        const std::string_view line = take_until(lines, '\n');
        if (line.starts_with(word) && line.substr(word.size()).starts_with(' ')) {
            return line.substr(word.size() + 1);
        }
    }
    return {};
}

std::string complaint_of(const ChildResult& result) {
    std::string lines;
    std::string_view rest = result.err.find_first_not_of('\n') == std::string::npos ? result.out : result.err;
    while (!rest.empty()) {
        if (const std::string_view line = take_until(rest, '\n'); !line.empty()) {
            if (lines.size() > enough_complaint) {
                return lines + "; …";
            }
            lines += (lines.empty() ? "" : "; ") + escaped(line);
        }
    }
    return lines;
}

std::string with_complaint(std::string what, const ChildResult& result) {
    const std::string complaint = complaint_of(result);
    return complaint.empty() ? what : fmt::format("{}: {}", what, complaint);
}

}  // namespace sluice
