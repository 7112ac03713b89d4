#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/e2e/early_end.hpp"
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

/// What the program shows to whom reads of `file` take that many milliseconds more a MiB.
std::string shown_with_slow_reads(const EchoJob& job, const char* file, const char* milliseconds,
                                  const std::vector<std::string>& words) {
    Terminal terminal;
    Process process(joined({"/usr/bin/env", "LD_PRELOAD=" SLUICE_SLOW_READS, std::string("SLUICE_SLOW_FILE=/") + file,
                            std::string("SLUICE_SLOW_MIB=") + milliseconds, SLUICE_ECHO_PROGRAM},
                           words),
                    {.folder = job.path(), .err = terminal.file()});
    const std::string shown = terminal.read_to_end();
    EXPECT_EQ(process.wait().exit_code, 0);
    return shown;
}

TEST(OnATerminal, ACheckShowsHowMuchItHasRead) {
    constexpr std::size_t item_bytes = 144;  // sizeof(Item) of tests/e2e/echo_app.cpp
    const EchoJob job({"item"});
    write_file(job.path() / "items.u8", std::string(58'254 * item_bytes, '\0'));  // 8 MiB, which take 0.6 s
    const auto shown = [&](const std::vector<std::string>& more) {
        return shown_with_slow_reads(job, "items.u8", "75",
                                     joined({"check", "job.toml", "--set", "input.path=items.u8"}, more));
    };

    EXPECT_THAT(shown({}), HasSubstr(" of 58254 items ("));
    EXPECT_EQ(shown({"--no-progress"}), "");
}

TEST(OnATerminal, AVerificationShowsHowMuchItHasRead) {
    const EchoJob job(std::vector<std::string>(200, "item"));
    ASSERT_EQ(job.run(0).exit_code, 0);
    const auto shown = [&](const std::vector<std::string>& more) {  // 1 kB, which takes half a second
        return shown_with_slow_reads(job, "labels.csv", "500000", joined({"verify", "labels.csv"}, more));
    };

    EXPECT_THAT(shown({}), HasSubstr("0 of 200 items ("));
    EXPECT_EQ(shown({"--no-progress"}), "");
}

TEST(OnATerminal, NoBarIsShownWithoutProgress) {
    const EchoJob job({"slow", "slow"});
    Terminal terminal;
    Process run(words_of_run("--no-progress"), {.folder = job.path(), .err = terminal.file()});

    const std::string shown = terminal.read_to_end();

    EXPECT_EQ(run.wait().exit_code, 0);
    EXPECT_THAT(shown, Not(HasSubstr(" items (")));
}

/// Otherwise a file of the run's would get the number of one, and what is said to the user.
TEST(ClosedStreams, LeadNowhereWhileARunHasFilesOpen) {
    const JobFolder job(held_texts(20, 8));
    Process process({"/bin/sh", "-c", "exec \"$0\" run job.toml <&- >&- 2>&-", SLUICE_PROGRAM}, {.folder = job.path()});
    ASSERT_TRUE(eventually([&] { return job.is_held(process.pid()); }));

    for (const char* stream : {"0", "1", "2"}) {
        const auto descriptor = std::filesystem::path("/proc") / std::to_string(process.pid()) / "fd" / stream;
        EXPECT_EQ(std::filesystem::read_symlink(descriptor), "/dev/null") << stream;
    }
    job.release();
    EXPECT_EQ(process.wait().exit_code, 0);
}

}  // namespace
}  // namespace sluice::test
