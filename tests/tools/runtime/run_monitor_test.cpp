#include "tools/runtime/run_monitor.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "tests/slurm/fake_programs.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

/// Job 7 of Slurm's, whose squeue says `at_first`, and later what the shell's command `later` does.
class JobInSlurm {
public:
    JobInSlurm(const std::string& at_first, const std::string& later) : slurm_(FakePrograms::Others::seen) {
        ::setenv("SLURM_JOB_ID", "7", 1);
        ::unsetenv("SLURM_JOB_END_TIME");
        slurm_.add("squeue", "cd '" + folder_.path().native() +
                                 "'\necho >>asked\nif [ $(wc -l <asked) = 1 ]; then echo " + at_first + "; else " +
                                 later + "; fi");
    }
    JobInSlurm(const JobInSlurm&) = delete;
    JobInSlurm& operator=(const JobInSlurm&) = delete;
    ~JobInSlurm() {
        ::unsetenv("SLURM_JOB_ID");
        ::unsetenv("SLURM_JOB_END_TIME");
    }

    [[nodiscard]] std::size_t times_asked() const { return contents(folder_.path() / "asked").size(); }
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

private:
    TemporaryFolder folder_;
    FakePrograms slurm_;
};

/// A run in it that never gets on.
class ServingRun {
public:
    explicit ServingRun(const JobInSlurm& job, std::optional<std::chrono::seconds> time_left = {})
        : file_(job.folder() / "status.json"), monitor_(stop_, "n0", time_left, std::chrono::milliseconds(10)) {
        monitor_.open(job.folder(), "labels.csv");
        stop_.enter(RunPhase::serving);
        monitor_.serve({.book = &book_,
                        .grid = [] { return ChunkGrid(100, 4); },
                        .items_written = [] { return 0U; },
                        .chunks_committed = [] { return 0U; }});
    }

    [[nodiscard]] const StopRequest& stop() const { return stop_; }
    [[nodiscard]] double updated() const { return read_run_status(file_).value_or(RunStatus{}).updated; }
    [[nodiscard]] std::optional<double> limit() const { return read_run_status(file_).value_or(RunStatus{}).limit; }

private:
    std::filesystem::path file_;
    Doorbell bell_;
    StopRequest stop_{bell_};
    GrantBook book_{1, 1};
    RunMonitor monitor_;
};

double in_half_an_hour() {
    return static_cast<double>(std::time(nullptr)) + 1'800;
}

void expect_a_stop_in_time(const StopRequest& stop) {
    EXPECT_TRUE(eventually([&] { return stop.signal() != 0; }));
    EXPECT_EQ(stop.reason(), StopReason::time_limit);
}

TEST(RunMonitor, LetsARunGoOnWhoseJobHasGotMoreTime) {
    const JobInSlurm job("7 0:24", "echo 7 1:00:00");
    const ServingRun run(job);

    EXPECT_TRUE(eventually([&] { return run.limit().value_or(0) > in_half_an_hour(); }));

    EXPECT_EQ(run.stop().signal(), 0);
}

TEST(RunMonitor, LetsARunGoOnWhoseJobHasNoLimitAnyMore) {
    const JobInSlurm job("7 0:24", "echo 7 UNLIMITED");
    const ServingRun run(job);

    EXPECT_TRUE(eventually([&] { return job.times_asked() == 2 && !run.limit(); }));

    EXPECT_EQ(run.stop().signal(), 0);
}

TEST(RunMonitor, DoesNotBelieveTheLimitAtTheJobsStartForEver) {
    const JobInSlurm job("7 1:00:00", "exit 1");
    ::setenv("SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + 24).c_str(), 1);
    const ServingRun run(job);

    EXPECT_TRUE(eventually([&] { return run.limit().value_or(0) > in_half_an_hour(); }));

    EXPECT_EQ(run.stop().signal(), 0);
}

TEST(RunMonitor, DoesNotBelieveTheLimitOfAJobThatIsOver) {
    for (const char* of_such_a_job : {"-n", "Invalid job id specified >&2; exit 1"}) {
        const JobInSlurm job(of_such_a_job, "exit 1");
        ::setenv("SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + 24).c_str(), 1);
        const ServingRun run(job);

        EXPECT_TRUE(eventually([&] { return job.times_asked() == 1 && !run.limit(); })) << of_such_a_job;

        EXPECT_EQ(run.stop().signal(), 0) << of_such_a_job;
    }
}

TEST(RunMonitor, AsksSlurmWhereTheEndOfTheJobsTimeHasPassed) {
    const JobInSlurm job("7 1:00:00", "exit 1");
    ::setenv("SLURM_JOB_END_TIME", "1000", 1);
    const ServingRun run(job);

    EXPECT_TRUE(eventually([&] { return run.limit().value_or(0) > in_half_an_hour(); }));

    EXPECT_EQ(run.stop().signal(), 0);
}

TEST(RunMonitor, TakesTheLimitOfItsOwnTaskOfAnArray) {
    const JobInSlurm job("70 0:24; echo 7 1:00:00; echo 6 0:24", "exit 1");
    const ServingRun run(job);

    EXPECT_TRUE(eventually([&] { return run.limit().value_or(0) > in_half_an_hour(); }));

    EXPECT_EQ(run.stop().signal(), 0);
}

TEST(RunMonitor, WaitsForSlurmsAnswerWhereTheJobHasOutlivedItsLimit) {
    const JobInSlurm job("7 INVALID", "until [ -e answer ]; do sleep 0.01; done; echo 7 1:00:00");
    const ServingRun run(job);
    EXPECT_TRUE(eventually([&] { return job.times_asked() == 2; }));
    const double asked = run.updated();
    EXPECT_TRUE(eventually([&] { return run.updated() > asked + 0.1; }));  // ten looks later
    EXPECT_EQ(run.stop().signal(), 0);

    write_file(job.folder() / "answer", {});

    EXPECT_TRUE(eventually([&] { return run.limit().value_or(0) > in_half_an_hour(); }));
    EXPECT_EQ(run.stop().signal(), 0);
}

TEST(RunMonitor, StopsARunInTimeWhenItsJobHasGotNoMore) {
    const JobInSlurm job("7 0:10", "echo 7 0:10");
    const ServingRun run(job);

    expect_a_stop_in_time(run.stop());

    EXPECT_TRUE(eventually([&] { return job.times_asked() == 2; }));
}

TEST(RunMonitor, StopsARunWhoseJobsTimeIsOverAlready) {
    const JobInSlurm job("7 INVALID", "echo 7 INVALID");
    ::setenv("SLURM_JOB_END_TIME", "1000", 1);
    const ServingRun run(job);

    expect_a_stop_in_time(run.stop());
}

TEST(RunMonitor, StopsARunInTimeWhenSlurmDoesNotAnswerAgain) {
    const JobInSlurm job("7 0:10", "exit 1");
    const ServingRun run(job);

    expect_a_stop_in_time(run.stop());

    EXPECT_TRUE(eventually([&] { return job.times_asked() == 2; }));
}

TEST(RunMonitor, AsksNobodyAboutALimitThatItWasGiven) {
    const JobInSlurm job("7 1:00:00", "echo 7 1:00:00");
    const ServingRun run(job, std::chrono::seconds(10));

    expect_a_stop_in_time(run.stop());

    EXPECT_EQ(job.times_asked(), 0U);
}

TEST(RunMonitor, TakesAnOldDrainRequestForVoidInAJobByHand) {
    const JobInSlurm job("7 1:00:00", "exit 1");
    write_file(job.folder() / "drain", {});
    const ServingRun run(job);

    EXPECT_FALSE(std::filesystem::exists(job.folder() / "drain"));
    EXPECT_TRUE(eventually([&] { return run.limit().has_value(); }));
    EXPECT_EQ(run.stop().signal(), 0);
}

TEST(RunMonitor, ObeysAnOldDrainRequestInASubmittedJob) {
    const JobInSlurm job("7 1:00:00", "exit 1");
    write_file(job.folder() / "drain", {});
    ::setenv("SLUICE_RESUME", "requeue", 1);
    const ServingRun run(job);
    ::unsetenv("SLUICE_RESUME");

    EXPECT_TRUE(eventually([&] { return run.stop().signal() != 0; }));
    EXPECT_EQ(run.stop().reason(), StopReason::drain_request);
}

TEST(RunMonitor, AsksForNoFurtherAttemptOfARunThatWasDrained) {
    const TemporaryFolder folder;
    write_file(folder.path() / "drain", {});
    Doorbell bell;
    StopRequest stop(bell);
    GrantBook book(1, 1);
    ::setenv("SLUICE_RESUME", "requeue", 1);
    RunMonitor monitor(stop, "n0", std::chrono::hours(1), std::chrono::hours(1));
    ::unsetenv("SLUICE_RESUME");
    monitor.open(folder.path(), "labels.csv");
    std::filesystem::remove(folder.path() / "drain");
    monitor.serve({.book = &book,
                   .grid = [] { return ChunkGrid(100, 4); },
                   .items_written = [] { return 20U; },
                   .chunks_committed = [] { return 5U; }});

    monitor.end(ExitCode::stopped_early);

    const RunStatus status = read_run_status(folder.path() / "status.json").value();
    EXPECT_EQ(status.chunks_committed, 5U);
    EXPECT_FALSE(status.end.value().again);
    EXPECT_EQ(status.seconds_left, std::nullopt);
}

TEST(RunMonitor, KnowsTheRatesOfARunThatWasShorterThanAnyLook) {
    const TemporaryFolder folder;
    Doorbell bell;
    StopRequest stop(bell);
    GrantBook book(1, 1);
    std::uint64_t written = 0;
    RunMonitor monitor(stop, "n0", std::chrono::hours(1), std::chrono::hours(1));
    monitor.open(folder.path(), "labels.csv");
    monitor.serve({.book = &book,
                   .grid = [] { return ChunkGrid(100, 4); },
                   .items_written = [&] { return written; },
                   .chunks_committed = [] { return 0U; }});

    written = 100;
    monitor.end(ExitCode::ok);

    const RunStatus status = read_run_status(folder.path() / "status.json").value();
    EXPECT_EQ(status.items_done, 100U);
    EXPECT_GT(status.mean_items_per_second, 0);
    EXPECT_GT(status.items_per_second, 0);
}

TEST(RunMonitor, LeavesTheStatusOfAnotherAttemptAloneUntilTheRunIsItsOwn) {
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "status.json";
    const RunStatus others{.state = RunState::running, .job = "6", .host = "n7", .process = 1};
    ASSERT_EQ(write_run_status(file, others), 0);
    Doorbell bell;
    StopRequest stop(bell);
    {
        RunMonitor refused(stop, "n0", std::chrono::hours(1), std::chrono::milliseconds(1));
        refused.prepare_in(folder.path(), RunUse::taken);
        refused.end(ExitCode::in_use);
    }
    EXPECT_EQ(read_run_status(file), others);

    RunMonitor accepted(stop, "n0", std::chrono::hours(1), std::chrono::hours(1));
    accepted.prepare_in(folder.path(), RunUse::taken);
    EXPECT_EQ(read_run_status(file), others);
    accepted.open(folder.path(), "labels.csv");

    const RunStatus own = read_run_status(file).value();
    EXPECT_EQ(own.host, "n0");
    EXPECT_EQ(own.output, "labels.csv");
}

TEST(RunMonitor, TellsHowAnAttemptEndsThatCouldNotBePrepared) {
    const auto status_after = [](RunUse use, ExitCode code) {
        const TemporaryFolder folder;
        Doorbell bell;
        StopRequest stop(bell);
        RunMonitor monitor(stop, "n0", std::chrono::hours(1), std::chrono::hours(1));
        monitor.prepare_in(folder.path(), use);
        monitor.end(code);
        return read_run_status(folder.path() / "status.json").value_or(RunStatus{});
    };

    EXPECT_EQ(status_after(RunUse::free, ExitCode::bad_data).end.value_or(RunEnd{}).code, 65);
    EXPECT_EQ(status_after(RunUse::free, ExitCode::in_use).end, std::nullopt) << "whoever came first writes there now";
    EXPECT_EQ(status_after(RunUse::taken, ExitCode::bad_data).host, "");
}

TEST(RunMonitor, TellsThatTheOutputIsCompleteWhichAnotherAttemptHasFinished) {
    const TemporaryFolder folder;
    Doorbell bell;
    StopRequest stop(bell);
    RunMonitor monitor(stop, "n0", std::chrono::hours(1), std::chrono::hours(1));
    monitor.prepare_in(folder.path(), RunUse::taken);

    monitor.found_complete(ChunkGrid(100, 4));
    monitor.end(ExitCode::ok);

    EXPECT_EQ(read_run_status(folder.path() / "status.json").value_or(RunStatus{}).state, RunState::complete);
}

TEST(RunMonitor, TellsWhatIsCommittedAfterASuddenEnd) {
    const TemporaryFolder folder;
    Doorbell bell;
    StopRequest stop(bell);
    GrantBook book(1, 1);
    std::uint64_t committed = 0;
    RunMonitor monitor(stop, "n0", std::chrono::hours(1), std::chrono::hours(1));
    monitor.open(folder.path(), "labels.csv");
    monitor.serve({.book = &book,
                   .grid = [] { return ChunkGrid(99, 4); },
                   .items_written = [] { return 79U; },
                   .chunks_committed = [&] { return committed; }});
    monitor.end(ExitCode::communication);

    committed = 19;
    monitor.count_again();

    const RunStatus status = read_run_status(folder.path() / "status.json").value();
    EXPECT_EQ(status.chunks_committed, 19U);
    EXPECT_EQ(status.items_committed, 76U);
    EXPECT_EQ(status.state, RunState::failed);
    EXPECT_EQ(status.end.value().code, static_cast<int>(ExitCode::communication));
}

TEST(RunMonitor, TellsWhatIsCommittedApartFromWhatIsOnlyWritten) {
    const auto status_after = [](ExitCode code, std::uint64_t committed) {
        const TemporaryFolder folder;
        Doorbell bell;
        StopRequest stop(bell);
        GrantBook book(1, 1);
        RunMonitor monitor(stop, "n0", std::chrono::hours(1), std::chrono::hours(1));
        monitor.open(folder.path(), "labels.csv");
        monitor.serve({.book = &book,
                       .grid = [] { return ChunkGrid(99, 4).from(5); },
                       .items_written = [] { return 79U; },
                       .chunks_committed = [&] { return committed; }});
        monitor.end(code);
        return read_run_status(folder.path() / "status.json").value();
    };

    const RunStatus some = status_after(ExitCode::stopped_early, 12);
    const RunStatus none = status_after(ExitCode::stopped_early, 5);
    const RunStatus all = status_after(ExitCode::ok, 12);

    EXPECT_EQ(some.chunks_done, 25U);
    EXPECT_EQ(some.chunks_committed, 12U);
    EXPECT_EQ(some.items_committed, 48U);
    EXPECT_TRUE(some.end.value().again);
    EXPECT_EQ(none.items_committed, 20U) << "of earlier attempts";
    EXPECT_FALSE(none.end.value().again) << "the next attempt would get no further";
    EXPECT_EQ(all.chunks_committed, 25U);
    EXPECT_EQ(all.items_committed, 99U);
}

}  // namespace
}  // namespace sluice::test
