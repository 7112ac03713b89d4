#include "core/system/process_state.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace sluice::test {
namespace {

const std::string after_state = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21\n";

TEST(ProcessState, HasStateAndStartOfALine) {
    const std::optional<ProcessState> state = parse_process_state("42 (sluice) S" + after_state);

    ASSERT_TRUE(state);
    EXPECT_EQ(state->letter, 'S');
    EXPECT_EQ(state->start, 4711U);
    EXPECT_FALSE(state->has_ended());
}

TEST(ProcessState, IsNotMisledByAName) {
    const std::optional<ProcessState> state = parse_process_state("42 (a) Z 1 (b)) R" + after_state);

    ASSERT_TRUE(state);
    EXPECT_EQ(state->letter, 'R');
    EXPECT_EQ(state->start, 4711U);
}

TEST(ProcessState, IsUnknownOfAnythingButSuchALine) {
    for (const char* const line : {"", "42", "42 (sluice)", "42 (sluice) S", "42 (sluice) S 1 2 3\n"}) {
        EXPECT_FALSE(parse_process_state(line)) << line;
    }
}

TEST(ProcessState, IsThatOfAZombieUntilItsParentHasNotedItsEnd) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const std::optional<ProcessState> living = read_process_state(child);
    ASSERT_TRUE(living);
    EXPECT_FALSE(living->has_ended());

    ::kill(child, SIGKILL);
    siginfo_t info = {};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    const std::optional<ProcessState> ended = read_process_state(child);
    ASSERT_TRUE(ended);
    EXPECT_TRUE(ended->has_ended());
    EXPECT_EQ(ended->start, living->start);

    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_FALSE(read_process_state(child));
}

}  // namespace
}  // namespace sluice::test
