#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/e2e/echo_job.hpp"
#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"
#include "tests/support/terminal.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string clear_line = "\r\x1b[K";

std::vector<std::string> words_of_run(const char* option) {
    return launch_words(0, {"run", "job.toml", option, "--set", "pipeline.chunk_items=1"}, SLUICE_ECHO_PROGRAM);
}

TEST(OnATerminal, AStopIsToldOnALineOfItsOwn) {
    const EchoJob job({"item", "held", "held", "held", "held", "held", "held", "held"});
    Terminal terminal;
    Process run(words_of_run("--quiet"), {.folder = job.path(), .err = terminal.file()});

    static_cast<void>(terminal.read_until(" of 8 items ("));
    ASSERT_TRUE(eventually([&] { return job.is_held(run.pid()); }));
    run.send(SIGINT);
    static_cast<void>(terminal.read_until("a second signal stops at once\r\n" + clear_line + "["));  // shown again
    job.release();
    const std::string shown = terminal.read_to_end();

    EXPECT_EQ(run.wait().exit_code, 75);
    EXPECT_THAT(shown, HasSubstr(clear_line + "sluice: SIGINT: finishing the chunks in flight"));
    EXPECT_THAT(shown, HasSubstr(clear_line + "sluice: notice[E-RUN-075]: "))
        << "the bar is gone when the run has ended";
}

TEST(OnATerminal, ACheckShowsHowMuchItHasRead) {
    constexpr std::size_t item_bytes = 144;  // sizeof(Item) of tests/e2e/echo_app.cpp
    const EchoJob job({"item"});
    write_file(job.path() / "items.u8", std::string(58'254 * item_bytes, '\0'));  // 8 MiB, which take 0.6 s
    std::vector<std::string> words{"/usr/bin/env",
                                   "LD_PRELOAD=" SLUICE_SLOW_READS,
                                   "SLUICE_SLOW_FILE=/items.u8",
                                   "SLUICE_SLOW_MIB=75",
                                   SLUICE_ECHO_PROGRAM,
                                   "check",
                                   "job.toml",
                                   "--set",
                                   "input.path=items.u8"};
    const auto shown = [&] {
        Terminal terminal;
        Process check(words, {.folder = job.path(), .err = terminal.file()});
        const std::string text = terminal.read_to_end();
        EXPECT_EQ(check.wait().exit_code, 0);
        return text;
    };

    EXPECT_THAT(shown(), HasSubstr(" of 58254 items ("));
    words.emplace_back("--no-progress");
    EXPECT_EQ(shown(), "");
}

TEST(OnATerminal, NoBarIsShownWithoutProgress) {
    const EchoJob job({"slow", "slow"});
    Terminal terminal;
    Process run(words_of_run("--no-progress"), {.folder = job.path(), .err = terminal.file()});

    const std::string shown = terminal.read_to_end();

    EXPECT_EQ(run.wait().exit_code, 0);
    EXPECT_THAT(shown, Not(HasSubstr(" items (")));
}

}  // namespace
}  // namespace sluice::test
