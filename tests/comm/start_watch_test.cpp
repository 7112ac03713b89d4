#include "comm/mpi_session.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "comm/watcher.hpp"
#include "tests/support/proc.hpp"

namespace sluice {
namespace {

/// A process that watches its parent, and tells its number through `pipe`.
[[noreturn]] void be_watching(int pipe) {
    const std::jthread watch = watch_start();
    const pid_t me = ::getpid();
    if (::write(pipe, &me, sizeof me) != sizeof me) {
        ::_exit(1);
    }
    while (true) {
        ::pause();
    }
}

[[noreturn]] void be_the_parent(int pipe) {
    if (::fork() == 0) {
        be_watching(pipe);
    }
    ::close(pipe);
    while (true) {
        ::pause();
    }
}

/// The status with which the child ends, by itself or by the test, which then fails.
int status_of_end(pid_t child) {
    if (!test::EndWatch({child}).wait(test::longest_run)) {
        ADD_FAILURE() << "process " << child << " has not ended";
        ::kill(child, SIGKILL);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
}

TEST(StartWatch, EndsAProcessWhoseParentWasKilled) {
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // the orphan becomes this process's
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t parent = ::fork();
    if (parent == 0) {
        be_the_parent(pipe[1]);
    }
    ::close(pipe[1]);
    pid_t orphan = 0;
    ASSERT_EQ(::read(pipe[0], &orphan, sizeof orphan), static_cast<ssize_t>(sizeof orphan));
    ::close(pipe[0]);

    ASSERT_EQ(::kill(parent, SIGKILL), 0);

    EXPECT_EQ(::waitpid(parent, nullptr, 0), parent);
    const int status = status_of_end(orphan);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 76);
}

TEST(StartWatch, LetsAProcessDieOfASignalThatItBlocks) {
    for (const int signal : {SIGTERM, SIGINT}) {
        std::array<int, 2> pipe{};
        ASSERT_EQ(::pipe(pipe.data()), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            static_cast<void>(::signal(signal, SIG_DFL));  // what a shell starts in the background ignores SIGINT
            block_signals();
            be_watching(pipe[1]);
        }
        ::close(pipe[1]);
        pid_t started = 0;
        ASSERT_EQ(::read(pipe[0], &started, sizeof started), static_cast<ssize_t>(sizeof started));
        ::close(pipe[0]);

        ASSERT_EQ(::kill(child, SIGUSR1), 0);
        ASSERT_EQ(::kill(child, signal), 0);

        const int status = status_of_end(child);
        ASSERT_TRUE(WIFSIGNALED(status));
        EXPECT_EQ(WTERMSIG(status), signal);
    }
}

TEST(StartWatch, LeavesAProcessAloneOnceItIsGone) {
    const pid_t child = ::fork();
    if (child == 0) {
        { const std::jthread watch = watch_start(); }
        ::_exit(0);
    }

    const int status = status_of_end(child);

    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(EndWatch, EndsAProcessThatWaitsForTooLong) {
    const pid_t child = ::fork();
    if (child == 0) {
        const std::jthread watch = watch_end(std::chrono::milliseconds(1));
        while (true) {
            ::pause();
        }
    }

    const int status = status_of_end(child);

    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 76);
}

TEST(EndWatch, LeavesAProcessAloneOnceItIsGone) {
    const pid_t child = ::fork();
    if (child == 0) {
        { const std::jthread watch = watch_end(std::chrono::hours(1)); }
        ::_exit(0);
    }

    const int status = status_of_end(child);

    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace sluice
