#include "tests/tools/child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

namespace sluice::test {
namespace {

void check(int code, const char* what) {
    if (code != 0) {
        throw std::system_error(code, std::generic_category(), what);
    }
}

std::string contents(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

struct FileActions {
    FileActions() { check(::posix_spawn_file_actions_init(&actions), "posix_spawn_file_actions_init"); }
    FileActions(const FileActions&) = delete;
    FileActions& operator=(const FileActions&) = delete;
    ~FileActions() { ::posix_spawn_file_actions_destroy(&actions); }

    void open(int fd, const char* path, int flags) {
        check(::posix_spawn_file_actions_addopen(&actions, fd, path, flags, 0600), path);
    }

    posix_spawn_file_actions_t actions;
};

}  // namespace

ChildResult run_child(const std::string& program, const std::vector<std::string>& arguments,
                      const std::filesystem::path& folder, Stdout stdout_kind) {
    const TemporaryFolder caught;  // files, so that no pipe can fill up
    const std::string out = caught.path() / "out";
    const std::string err = caught.path() / "err";
    FileActions files;
    files.open(STDIN_FILENO, "/dev/null", O_RDONLY);
    if (stdout_kind == Stdout::closed) {
        check(::posix_spawn_file_actions_addclose(&files.actions, STDOUT_FILENO), "close");
    } else {
        files.open(STDOUT_FILENO, stdout_kind == Stdout::full ? "/dev/full" : out.c_str(), O_WRONLY | O_CREAT);
    }
    files.open(STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT);
    check(::posix_spawn_file_actions_addchdir_np(&files.actions, folder.c_str()), "chdir");

    std::vector<std::string> words{program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    pid_t child = 0;
    check(::posix_spawn(&child, program.c_str(), &files.actions, nullptr, argv.data(), environ), program.c_str());
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        check(errno == EINTR ? 0 : errno, "waitpid");
    }
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents(out), contents(err)};
}

TemporaryFolder::TemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / "sluice-tools-XXXXXX";
    check(::mkdtemp(name.data()) == nullptr ? errno : 0, "mkdtemp");
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;  // a destructor does not throw
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace sluice::test
