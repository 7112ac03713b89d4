#include "tests/support/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

void check(int code, const char* what) {
    if (code != 0) {
        throw std::system_error(code, std::generic_category(), what);
    }
}

struct FileActions {
    FileActions() { check(::posix_spawn_file_actions_init(&actions), "posix_spawn_file_actions_init"); }
    FileActions(const FileActions&) = delete;
    FileActions& operator=(const FileActions&) = delete;
    ~FileActions() { ::posix_spawn_file_actions_destroy(&actions); }

    void open(int fd, const std::string& path, int flags) {
        check(::posix_spawn_file_actions_addopen(&actions, fd, path.c_str(), flags, 0600), "addopen");
    }

    posix_spawn_file_actions_t actions;
};

class UnreadPipe {
public:
    UnreadPipe() {
        int ends[2];
        check(::pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno, "pipe2");
        ::close(ends[0]);
        end_ = ends[1];
    }
    UnreadPipe(const UnreadPipe&) = delete;
    UnreadPipe& operator=(const UnreadPipe&) = delete;
    ~UnreadPipe() { ::close(end_); }

    [[nodiscard]] int end() const noexcept { return end_; }

private:
    int end_ = -1;
};

/// The soft limit of this process for as long as it lives: a child inherits it.
class FileSizeLimit {
public:
    explicit FileSizeLimit(std::optional<unsigned long> bytes) {
        check(::getrlimit(RLIMIT_FSIZE, &before_) == 0 ? 0 : errno, "getrlimit");
        const rlimit limit{.rlim_cur = bytes.value_or(before_.rlim_cur), .rlim_max = before_.rlim_max};
        check(::setrlimit(RLIMIT_FSIZE, &limit) == 0 ? 0 : errno, "setrlimit");
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;
    ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_{};
};

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (std::string& word : words) {
        all.push_back(word.data());
    }
    all.push_back(nullptr);
    return all;
}

const char* const users_cache = std::getenv("XDG_CACHE_HOME");

/// The measured costs of programs whose test has named no folder for them: they neither find the user's nor leave any.
const std::filesystem::path& cache_folder() {
    static const TemporaryFolder folder;
    return folder.path();
}

/// Says something about this process that is not true of a program that it starts.
bool is_launchers(std::string_view variable) {
    constexpr std::array<std::string_view, 4> prefixes{"OMPI_COMM_WORLD_", "PMIX_", "PMI_", "SLURM_"};
    return !variable.starts_with("SLURM_CONF=") &&
           std::ranges::any_of(prefixes, [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

/// This process's, without what its surroundings have put there. Open MPI refuses to start as root, as test machines
/// do, without the first two.
std::vector<std::string> environment() {
    std::vector<std::string> all{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
    const bool has_own_cache = std::getenv("XDG_CACHE_HOME") != users_cache;
    if (!has_own_cache) {
        all.push_back("XDG_CACHE_HOME=" + cache_folder().native());
    }
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        if (!text.starts_with("OMPI_ALLOW_RUN_AS_ROOT") && !is_launchers(text) &&
            (has_own_cache || !text.starts_with("XDG_CACHE_HOME="))) {
            all.emplace_back(text);
        }
    }
    return all;
}

}  // namespace

std::vector<std::string> ProcessResult::errors() const {
    std::vector<std::string> found;
    std::istringstream lines(err);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("sluice: error[") || line.starts_with("sluice: notice[")) {
            found.push_back(line);
        }
    }
    return found;
}

std::string ProcessResult::besides_warnings() const {
    std::string rest;
    std::istringstream lines(err);
    bool of_warning = false;  // its hint comes next
    for (std::string line; std::getline(lines, line);) {
        const bool is_progress =
            line.find(" sluice: ") != std::string::npos && line.find(" items (") != std::string::npos;
        of_warning = line.starts_with("sluice: warning[") || (of_warning && line.starts_with("  hint: "));
        rest += is_progress || of_warning ? "" : line + "\n";
    }
    return rest;
}

Process::Process(const std::vector<std::string>& words, const ProcessOptions& options) {
    FileActions files;
    files.open(STDIN_FILENO, "/dev/null", O_RDONLY);
    std::optional<UnreadPipe> pipe;
    if (options.out == Stdout::closed) {
        check(::posix_spawn_file_actions_addclose(&files.actions, STDOUT_FILENO), "addclose");
    } else if (options.out == Stdout::unread) {
        pipe.emplace();
        check(::posix_spawn_file_actions_adddup2(&files.actions, pipe->end(), STDOUT_FILENO), "adddup2");
    } else {
        files.open(STDOUT_FILENO, options.out == Stdout::full ? "/dev/full" : caught_.path() / "out",
                   O_WRONLY | O_CREAT);
    }
    files.open(STDERR_FILENO, options.err.empty() ? caught_.path() / "err" : options.err,
               O_WRONLY | O_CREAT | O_NOCTTY);
    check(::posix_spawn_file_actions_addchdir_np(&files.actions, options.folder.c_str()), "addchdir");

    std::vector<std::string> arguments = words;
    std::vector<std::string> variables = environment();
    const FileSizeLimit limit(options.largest_file);
    check(::posix_spawn(&pid_, words.front().c_str(), &files.actions, nullptr, pointers(arguments).data(),
                        pointers(variables).data()),
          words.front().c_str());
}

Process::~Process() {
    if (pid_ != 0) {
        kill();
        ::waitpid(pid_, nullptr, 0);
    }
}

/// A launcher of which only the ranks are killed removes its own files first.
void Process::kill() const {
    constexpr std::chrono::seconds to_clean_up{5};
    const std::vector<pid_t> ranks = ranks_of(pid_);
    for (const pid_t rank : ranks) {
        ::kill(rank, SIGKILL);
    }
    if (!ranks.empty()) {
        static_cast<void>(EndWatch({pid_}).wait(to_clean_up));
    }
    ::kill(pid_, SIGKILL);
}

void Process::send(int signal) const {
    check(::kill(pid_, signal) == 0 ? 0 : errno, "kill");
}

std::string Process::err() const {
    return contents(caught_.path() / "err");
}

ProcessResult Process::wait() {
    const std::chrono::seconds at_most = patience();
    if (!EndWatch({pid_}).wait(at_most)) {
        ADD_FAILURE() << "process " << pid_ << " still runs after " << at_most.count() << " s; it has said:\n" << err();
        kill();
    }
    int status = 0;
    check(::waitpid(pid_, &status, 0) == pid_ ? 0 : errno, "waitpid");
    pid_ = 0;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents(caught_.path() / "out"),
            contents(caught_.path() / "err")};
}

}  // namespace sluice::test
