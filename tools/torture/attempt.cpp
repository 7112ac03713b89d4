#include "tools/torture/attempt.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/system/process_state.hpp"

namespace sluice::torture {
namespace {

constexpr std::chrono::minutes longest_run{2};  // takes seconds unless it hangs
constexpr std::chrono::seconds longest_without_ranks{20};
constexpr std::chrono::milliseconds look_every{500};
constexpr std::chrono::milliseconds look_for_stop_every{2};

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

    posix_spawn_file_actions_t actions{};
};

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    all.reserve(words.size() + 1);
    for (std::string& word : words) {
        all.push_back(word.data());
    }
    all.push_back(nullptr);
    return all;
}

std::string_view name_of(std::string_view variable) {
    return variable.substr(0, variable.find('='));
}

/// Without the first two Open MPI refuses to run as root, as in containers.
std::vector<std::string> environment(const std::vector<std::string>& variables) {
    std::vector<std::string> all{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
    all.insert(all.end(), variables.begin(), variables.end());
    const std::size_t own = all.size();
    for (char** variable = environ; *variable != nullptr; ++variable) {
        bool is_set = false;
        for (std::size_t i = 0; i < own; ++i) {
            is_set = is_set || name_of(all[i]) == name_of(*variable);
        }
        if (!is_set) {
            all.emplace_back(*variable);
        }
    }
    return all;
}

bool is_zombie(pid_t process) {
    const std::optional<ProcessState> state = read_process_state(process);
    return state && state->has_ended();
}

pid_t start(const Attempt::Command& command) {
    FileActions files;
    check(::posix_spawn_file_actions_addopen(&files.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0), "addopen");
    check(::posix_spawn_file_actions_addopen(&files.actions, STDOUT_FILENO, command.log.c_str(),
                                             O_WRONLY | O_CREAT | O_TRUNC, 0600),
          "addopen");
    check(::posix_spawn_file_actions_adddup2(&files.actions, STDOUT_FILENO, STDERR_FILENO), "adddup2");
    check(::posix_spawn_file_actions_addchdir_np(&files.actions, command.folder.c_str()), "addchdir");
    std::vector<std::string> words = command.words;
    std::vector<std::string> variables = environment(command.variables);
    pid_t process = 0;
    check(::posix_spawnp(&process, words.front().c_str(), &files.actions, nullptr, pointers(words).data(),
                         pointers(variables).data()),
          words.front().c_str());
    return process;
}

}  // namespace

Watch::Watch(pid_t process) : file_(static_cast<int>(::syscall(SYS_pidfd_open, process, 0))) {
    if (file_ < 0 && errno != ESRCH) {
        throw std::system_error(errno, std::generic_category(), "pidfd_open");
    }
}

Watch::Watch(Watch&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

Watch::~Watch() {
    if (file_ >= 0) {
        ::close(file_);
    }
}

bool Watch::ended_within(std::chrono::milliseconds timeout) const {
    pollfd poll_for{.fd = file_, .events = POLLIN, .revents = 0};
    int ready = -1;
    do {
        ready = file_ < 0 ? 1 : ::poll(&poll_for, 1, static_cast<int>(timeout.count()));
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

Attempt::Attempt(const Command& command) : process_(start(command)), watch_(process_) {}

Attempt::~Attempt() {
    if (!over_) {
        send(SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
}

void Attempt::send(int signal) const {
    ::kill(process_, signal);
}

std::vector<pid_t> Attempt::children() const {
    std::vector<pid_t> all;
    std::error_code gone;
    for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process_), gone)) {
        std::ifstream list(task.path() / "children");
        for (pid_t child = 0; list >> child;) {
            all.push_back(child);
        }
    }
    return all;
}

bool Attempt::stops() const {
    siginfo_t event{};
    do {
        check(::waitid(P_PID, static_cast<id_t>(process_), &event, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 ? 0
                                                                                                                : errno,
              "waitid");
    } while (event.si_pid == 0 && !ended_within(look_for_stop_every));
    return event.si_code == CLD_STOPPED;
}

/// Whether all of its ranks are dead without its noticing.
bool Attempt::is_left_behind() const {
    const std::vector<pid_t> all = children();
    return !all.empty() && std::all_of(all.begin(), all.end(), is_zombie);
}

int Attempt::wait() {
    const auto begin = std::chrono::steady_clock::now();
    auto last_rank = begin;
    bool ended = false;
    bool left_behind = false;
    while (!(ended = ended_within(look_every)) && !left_behind) {
        const auto now = std::chrono::steady_clock::now();
        if (!is_left_behind()) {
            last_rank = now;
        }
        left_behind = now - last_rank > longest_without_ranks;
        if (now - begin > longest_run) {
            break;
        }
    }
    if (!ended) {
        send(SIGKILL);
    }
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    over_ = true;
    if (!ended && !left_behind) {
        return hung;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace sluice::torture
