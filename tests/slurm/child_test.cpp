#include "slurm/child.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "core/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr seconds plenty{60};

TEST(Child, GetsItsWordsUnread) {
    const auto result = run_child({"printf", "%s", "$(x) `y` 'z' \" \\ ; a  b"}, plenty);

    EXPECT_EQ(result.value().out, "$(x) `y` 'z' \" \\ ; a  b");
}

TEST(Child, HandsItsExitCodeAndBothOutputsOver) {
    const auto result = run_child({"sh", "-c", "echo out; echo err >&2; exit 7"}, plenty).value();

    EXPECT_EQ(result.exit_code, 7);
    EXPECT_EQ(result.out, "out\n");
    EXPECT_EQ(result.err, "err\n");
    EXPECT_EQ(run_child({"sh", "-c", "kill -9 $$"}, plenty).value().exit_code, 137);
}

/// As wrappers of sites do.
TEST(Child, IsNotWaitedForByWhatItLeavesBehind) {
    const TemporaryFolder folder;
    const std::string fifo = folder.path() / "fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);

    const auto result = run_child({"sh", "-c", "cat < " + fifo + " & echo answer; exit 3"}, plenty);

    std::ofstream(fifo, std::ios::app).close();  // and cat comes to its end
    ASSERT_TRUE(result);
    EXPECT_EQ(result->exit_code, 3);
    EXPECT_EQ(result->out, "answer\n");
}

TEST(Child, WhoseEndTheSystemDoesNotTellGivesNoAnswer) {
    ::signal(SIGCHLD, SIG_IGN);
    EXPECT_THAT(
        [] {
            static_cast<void>(run_child({"sh", "-c", "exit 7"}, plenty));
        },
        testing::ThrowsMessage<Error>(HasSubstr("cannot learn how it ended")));
    ::signal(SIGCHLD, SIG_DFL);
}

TEST(Child, ComplainsInOneLine) {
    EXPECT_EQ(complaint_of({.err = "sbatch: error: a\nsbatch: error: b\x1b\n\n"}),
              "sbatch: error: a; sbatch: error: b\\x1b");
    EXPECT_EQ(complaint_of({}), "");
    EXPECT_EQ(complaint_of({.out = "our wrapper: no\n", .err = "\n"}), "our wrapper: no") << "where stderr is empty";
    EXPECT_EQ(with_complaint("failed", {.err = "why\n"}), "failed: why");
    EXPECT_EQ(with_complaint("failed", {}), "failed");
}

TEST(Child, ComplainsWithItsLastLineToo) {
    const std::string first = "sbatch: error: " + std::string(90, 'a');
    const std::string last = "sbatch: error: Batch job submission failed: Invalid partition name specified";

    EXPECT_EQ(complaint_of({.err = first + "\n" + last + "\n"}), first + "; " + last);

    std::string many;
    for (int i = 0; i < 100; ++i) {
        many += first + "\n";
    }
    EXPECT_THAT(complaint_of({.err = many}), testing::EndsWith("; …"));
    EXPECT_LT(complaint_of({.err = many}).size(), 400U);
}

TEST(Child, SeesNothingOfAJobAroundIt) {
    constexpr std::array names{"SLURM_JOB_ID", "SLURM_NTASKS", "SBATCH_EXPORT", "SRUN_CPUS_PER_TASK",
                               "SLURMD_DEBUG", "SLURM_CONF",   "SLURM_CLUSTERS"};
    for (const char* name : names) {
        ::setenv(name, "kept", 1);
    }

    const std::string environment = run_child({"env"}, plenty).value().out;

    for (const char* name : names) {
        ::unsetenv(name);
    }
    EXPECT_THAT(environment, HasSubstr("SLURM_CONF=kept\n"));
    EXPECT_THAT(environment, HasSubstr("SLURM_CLUSTERS=kept\n"));
    EXPECT_THAT(environment, Not(HasSubstr("SLURMD_")));
    EXPECT_THAT(environment, HasSubstr("PATH="));
    EXPECT_THAT(environment, Not(HasSubstr("SLURM_JOB_ID")));
    EXPECT_THAT(environment, Not(HasSubstr("SLURM_NTASKS")));
    EXPECT_THAT(environment, Not(HasSubstr("SBATCH_")));
    EXPECT_THAT(environment, Not(HasSubstr("SRUN_")));
}

TEST(Child, GetsNoSignalsBlockedOrIgnoredAndNothingToRead) {
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const auto term = run_child({"sh", "-c", "kill -TERM $$"}, plenty);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    auto* const usual = ::signal(SIGPIPE, SIG_IGN);
    const auto pipe = run_child({"sh", "-c", "kill -PIPE $$"}, plenty);
    ::signal(SIGPIPE, usual);
    auto* const usual_limit = ::signal(SIGXFSZ, SIG_IGN);
    const auto limit = run_child({"sh", "-c", "kill -XFSZ $$"}, plenty);
    ::signal(SIGXFSZ, usual_limit);
    const int input = ::dup(STDIN_FILENO);
    const int endless = ::open("/dev/zero", O_RDONLY);
    ::dup2(endless, STDIN_FILENO);
    const auto read = run_child({"head", "-c", "1"}, plenty);
    ::dup2(input, STDIN_FILENO);
    ::close(endless);
    ::close(input);

    EXPECT_EQ(term.value().exit_code, 128 + SIGTERM);
    EXPECT_EQ(pipe.value().exit_code, 128 + SIGPIPE);
    EXPECT_EQ(limit.value().exit_code, 128 + SIGXFSZ);
    EXPECT_EQ(read.value().out, "");
}

TEST(Child, ThatWritesWithoutEndIsReadToItsEnd) {
    const auto result = run_child({"sh", "-c", "yes | head -c 1000000"}, plenty).value();

    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.out.size(), 65'536U);
}

/// Without children, also ended ones.
bool is_alone() {
    return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
}

TEST(Child, ThatTakesTooLongIsKilled) {
    EXPECT_EQ(run_child({"sleep", "1000"}, seconds(0)), std::nullopt);
    EXPECT_TRUE(is_alone());
}

TEST(Child, IsKilledAtAStop) {
    std::jthread stopped([](const std::stop_token&) {});
    stopped.request_stop();

    EXPECT_EQ(run_child({"sleep", "1000"}, plenty, stopped.get_stop_token()), std::nullopt);
    EXPECT_TRUE(is_alone());
}

TEST(Child, ThatOutlivesItsOutputsIsKilledToo) {
    EXPECT_EQ(run_child({"sh", "-c", "exec >&- 2>&-; exec sleep 1000"}, seconds(1)), std::nullopt);
    EXPECT_TRUE(is_alone());
}

TEST(Child, ThatCannotBeStartedIsNamed) {
    const Error error = test::error_of([&] { return run_child({"no-such-program-of-slurm"}, plenty); });

    EXPECT_EQ(error.text().id, "E-SLM-074");
    EXPECT_EQ(error.code(), ExitCode::unavailable);
}

}  // namespace
}  // namespace sluice
