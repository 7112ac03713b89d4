#include "comm/crash_reports.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <latch>
#include <thread>
#include <vector>

#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;

[[noreturn]] void crash_in_many_threads(const std::filesystem::path& file) {
    const rlimit no_core{};
    ::setrlimit(RLIMIT_CORE, &no_core);
    RankBoard board;
    board.mine().chunk = 12;
    board.mine().stage = Stage::compute;
    const CrashReports reports(board, "n07");
    CrashReports::leave_behind(file);
    std::latch all(8);
    std::vector<std::jthread> threads;
    for (std::ptrdiff_t thread = 0; thread < 8; ++thread) {
        threads.emplace_back([&] {
            all.arrive_and_wait();
            ::raise(SIGSEGV);
        });
    }
    threads.clear();
    std::abort();
}

TEST(CrashReports, TellOfThreadsThatCrashAtOnce) {
    for (int round = 0; round < 50; ++round) {
        const TemporaryFolder folder;
        const auto file = folder.path() / "crash";

        EXPECT_EXIT(crash_in_many_threads(file), testing::KilledBySignal(SIGSEGV),
                    "E-RUN-001.: rank 0 on n07: died: SIGSEGV in compute of chunk 12");
        EXPECT_THAT(test::contents(file), HasSubstr("died: SIGSEGV in compute of chunk 12\nchunk 12\n"));
    }
}

[[noreturn]] void exit_in_a_thread(int status, const std::filesystem::path& file) {
    const rlimit no_core{};
    ::setrlimit(RLIMIT_CORE, &no_core);
    RankBoard board;
    board.mine().chunk = 12;
    board.mine().stage = Stage::compute;
    const CrashReports reports(board, "n07");
    CrashReports::leave_behind(file);
    std::thread([status] { std::exit(status); }).join();
    std::abort();
}

TEST(CrashReports, TakeACallOfExitForACrash) {
    for (const int code : {0, 3, 75}) {
        const TemporaryFolder folder;
        const auto file = folder.path() / "crash";

        EXPECT_EXIT(
            exit_in_a_thread(code, file), testing::KilledBySignal(SIGABRT),
            fmt::format("exit.{}. was called in the middle of the run.*died: SIGABRT in compute of chunk 12", code));
        EXPECT_THAT(test::contents(file), HasSubstr("chunk 12\n"));
    }
}

/// Where threads would miss it that still work.
struct MadeLate {
    ~MadeLate() { ::_exit(99); }
};

TEST(CrashReports, SeeACallOfExitBeforeWhatWasMadeLateIsDestroyed) {
    const auto exit_with_late_objects = [] {
        const rlimit no_core{};
        ::setrlimit(RLIMIT_CORE, &no_core);
        RankBoard board;
        const CrashReports reports(board, "n07");
        static const MadeLate late;
        CrashReports::watch_exit();
        std::exit(75);
    };

    EXPECT_EXIT(exit_with_late_objects(), testing::KilledBySignal(SIGABRT), "exit.75. was called");
}

TEST(CrashReports, LetAProcessExitThatHasSaidSo) {
    const auto exit_as_mpi_may = [] {
        RankBoard board;
        const CrashReports reports(board, "n07");
        board.mine().end_with(ExitCode::communication);
        std::exit(76);
    };

    EXPECT_EXIT(exit_as_mpi_may(), testing::ExitedWithCode(76), "");
}

TEST(CrashReports, LetTheProcessExitWhenTheyHaveEnded) {
    const auto exit_after = [] {
        RankBoard board;
        { const CrashReports reports(board, "n07"); }
        std::exit(0);
    };

    EXPECT_EXIT(exit_after(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice
