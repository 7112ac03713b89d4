// `sluice submit --wait` and what else asks Slurm about a job, with programs that play Slurm.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/machine/provenance.hpp"
#include "slurm/run_status.hpp"
#include "slurm/submission.hpp"
#include "tests/e2e/job_folder.hpp"
#include "tests/slurm/fake_programs.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::unique_ptr<Process> submit_waiting(const JobFolder& job) {
    return std::make_unique<Process>(launch_words(0, {"submit", "job.toml", "--wait"}),
                                     ProcessOptions{.folder = job.path()});
}

TEST(SubmitWait, OutlivesTimesWithoutSlurmAndReturnsTheJobsExitCode) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    slurm.add("squeue", R"(case $* in *--Format=*) echo 'FAILED    82    '; exit ;; esac
echo >>asked
case $(wc -l <asked) in
1) echo 'Unable to contact slurm controller' >&2; exit 1 ;;
2) echo 'PENDING|N/A||Priority' ;;
*) [ "$2" = --states=all ] && echo 'FAILED|N/A|n0|NonZeroExitCode' ;;
esac)");

    const ProcessResult result = submit_waiting(job)->wait();

    EXPECT_EQ(result.exit_code, 82) << result.err;
    EXPECT_EQ(result.out, "7\n");
    EXPECT_THAT(result.err, HasSubstr("job 7: Slurm does not answer (squeue: failed with 1: Unable to contact"));
    EXPECT_THAT(result.err, HasSubstr("job 7 PENDING (Priority)\n"));
    const std::string log = (std::filesystem::canonical(job.path()) / "labels.csv.sluice/logs/7.log").native();
    EXPECT_THAT(result.err,
                HasSubstr("job 7 has ended, exit code 82 (FAILED)\n  hint: its log may tell why: " + log + "\n"));
    const ProcessResult status =
        Process(launch_words(0, {"status", "job.toml"}), ProcessOptions{.folder = job.path()}).wait();
    EXPECT_THAT(status.out, HasSubstr("log       " + log + "\n"));
}

TEST(SubmitWait, TakesNoStatusOfAJobThatWasKilledForTheNewOnes) {
    const JobFolder job(1);
    const std::filesystem::path folder = job.path() / "labels.csv.sluice";
    create_own_folder(folder);
    ASSERT_EQ(write_run_status(folder / "status.json", RunStatus{.state = RunState::running,
                                                                 .job = "6",
                                                                 .items = 1000,
                                                                 .items_before = 100,
                                                                 .items_done = 400,
                                                                 .mean_items_per_second = 10,
                                                                 .updated = unix_seconds() - 4}),
              0);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    slurm.add("squeue", R"(case $* in *--Format=*) echo 'FAILED    82    '; exit ;; esac
echo >>asked
case $(wc -l <asked) in
1) echo 'PENDING|N/A||Priority' ;;
*) echo 'FAILED|N/A|n0|NonZeroExitCode' ;;
esac)");

    const ProcessResult result = submit_waiting(job)->wait();

    EXPECT_EQ(result.exit_code, 82) << result.err;
    EXPECT_THAT(result.err,
                HasSubstr("job 7 PENDING (Priority), 400 of 1000 items (40.0 %): 0 in this run, 400 before"));
    EXPECT_THAT(result.err, Not(HasSubstr("running")));
    EXPECT_THAT(result.err, Not(HasSubstr("items/s")));
}

TEST(SubmitWait, NamesNoLogOfAJobThatWasCancelledInTheQueue) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    slurm.add("squeue", "case $* in *--Format=*) echo 'CANCELLED    0    '; exit ;; esac; echo 'CANCELLED|N/A||None'");

    const ProcessResult result = submit_waiting(job)->wait();

    EXPECT_EQ(result.exit_code, 75) << result.err;
    EXPECT_THAT(result.err, HasSubstr("job 7 has ended, exit code 75 (CANCELLED)\n"));
    EXPECT_THAT(result.err, Not(HasSubstr("7.log")));
}

TEST(SubmitWait, EndsAtASignalAndLeavesTheJobAlone) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    slurm.add("squeue", "touch asked; echo 'PENDING|N/A||Priority'");
    slurm.add("scancel", "touch cancelled");

    const auto waiting = submit_waiting(job);
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(job.path() / "asked"); }));
    waiting->send(SIGINT);
    const ProcessResult result = waiting->wait();

    EXPECT_EQ(result.exit_code, 128 + SIGINT);
    EXPECT_THAT(result.err, HasSubstr(fmt::format("no longer waiting; job 7 continues: `{} status 7` shows how",
                                                  program_name_of_runs())));
    EXPECT_FALSE(std::filesystem::exists(job.path() / "cancelled"));
}

TEST(StatusOfAForgottenJob, IsWhatSacctKnowsOrThatNobodyDoes) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    slurm.add("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    const auto sluice = [&](const std::vector<std::string>& words) {
        return Process(launch_words(0, words), ProcessOptions{.folder = job.path()}).wait();
    };
    ASSERT_EQ(sluice({"submit", "job.toml"}).exit_code, 0);

    slurm.add("sacct", "echo 'OUT_OF_MEMORY|0:125'");
    const ProcessResult known = sluice({"status", "job.toml"});
    slurm.add("sacct", "echo 'no connection to slurmdbd' >&2; exit 1");
    const ProcessResult unknown = sluice({"status", "job.toml", "--watch"});

    EXPECT_EQ(known.exit_code, 0) << known.err;
    EXPECT_THAT(known.out, HasSubstr("job 7 OUT_OF_MEMORY, exit code 0, signal 125 (sacct)\n"));
    EXPECT_EQ(unknown.exit_code, 0) << unknown.err;
    EXPECT_THAT(unknown.out, HasSubstr("job 7 has left the queue\n"));
}

TEST(StatusOfANumber, TellsASlurmThatDoesNotAnswerFromAJobThatItDoesNotKnow) {
    const TemporaryFolder folder;
    const FakePrograms slurm(FakePrograms::Others::seen);
    const auto status = [&](const std::string& answer) {
        slurm.add("scontrol", answer);
        return Process(launch_words(0, {"status", "4711"}), ProcessOptions{.folder = folder.path()}).wait();
    };

    const ProcessResult unknown = status("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    const ProcessResult silent = status("echo 'Unable to contact slurm controller' >&2; exit 1");
    const ProcessResult another = status("echo 'JobId=4711 JobName=x Command=/x/script.sh WorkDir=/x'");

    EXPECT_EQ(unknown.exit_code, 66) << unknown.err;
    EXPECT_EQ(silent.exit_code, 69) << silent.err;
    EXPECT_THAT(silent.err, HasSubstr("error[E-SLM-113]: scontrol: failed with 1: Unable to contact slurm controller"));
    EXPECT_EQ(another.exit_code, 66) << another.err;
    EXPECT_THAT(another.err, HasSubstr("4711: no job of sluice that Slurm remembers"));
}

TEST(StatusOfANumber, TakesNoOtherJobForTheOneThatIsMeant) {
    const JobFolder job(1);
    ASSERT_EQ(job.run_alone({}).exit_code, 0);
    const std::filesystem::path folder = job.path() / "labels.csv.sluice";
    write_file(folder / "plan.toml", {});
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("scontrol",
              "echo 'JobId=17 JobName=x StdOut=/x/logs/17.log'; echo 'JobId=7 JobName=a Command=/x/7 StdOut=" +
                  folder.native() + "/logs/7.log'");
    const auto exit_code_of = [&](const std::string& number) {
        return Process(launch_words(0, {"status", number}), ProcessOptions{.folder = job.path()}).wait().exit_code;
    };

    EXPECT_EQ(exit_code_of("7"), 0);
    EXPECT_EQ(exit_code_of("0"), 66) << "scontrol shows all jobs";
}

TEST(SubmitWait, EndsWhenTheRunsFolderIsRemoved) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    slurm.add("squeue", "echo 'PENDING|N/A||Priority'; rm -r labels.csv.sluice");

    const ProcessResult result = submit_waiting(job)->wait();

    EXPECT_EQ(result.exit_code, 74) << result.err;
    EXPECT_THAT(result.err, HasSubstr("E-OUT-119"));
}

/// A run that was submitted as job 7, and continued by hand afterwards; squeue does `answer`. The process that
/// continues it is held.
class ContinuedByHand {
public:
    explicit ContinuedByHand(const std::string& answer) {
        slurm_.add("sbatch", "echo 7");
        slurm_.add("squeue", answer);
        EXPECT_EQ(sluice({"submit", "job.toml"}).exit_code, 0);
        process_ = job_.start_alone(set({"pipeline.chunk_items=4"}));
        owner_ = fmt::format("attempt   process {} on {}", process_->pid(), host_name());
        EXPECT_TRUE(eventually([&] { return job_.is_held(process_->pid()); }));
    }

    [[nodiscard]] ProcessResult sluice(const std::vector<std::string>& words) const {
        return Process(launch_words(0, words), ProcessOptions{.folder = job_.path()}).wait();
    }

    void finish() const {
        job_.release();
        EXPECT_EQ(process_->wait().exit_code, 0);
    }

    /// The line of status that names the process.
    [[nodiscard]] const std::string& owner() const { return owner_; }

private:
    JobFolder job_{held_texts(40, 8)};
    FakePrograms slurm_{FakePrograms::Others::seen};
    std::unique_ptr<Process> process_;
    std::string owner_;
};

TEST(Status, OfARunThatIsContinuedByHandNamesTheProcessAndNoJob) {
    const ContinuedByHand run("echo 'FAILED|N/A|n0|NonZeroExitCode'");

    const ProcessResult running = run.sluice({"status", "job.toml"});
    const auto json = nlohmann::json::parse(run.sluice({"status", "job.toml", "--json"}).out);
    run.finish();
    const ProcessResult ended = run.sluice({"status", "job.toml", "--watch"});

    EXPECT_THAT(running.out, HasSubstr("state     running"));
    for (const ProcessResult& status : {running, ended}) {
        EXPECT_THAT(status.out, HasSubstr(run.owner() + ", by hand; submitted before as job 7\n"));
        EXPECT_THAT(status.out, Not(HasSubstr("Slurm")));
        EXPECT_THAT(status.out, Not(HasSubstr("7.log")));
    }
    EXPECT_EQ(json.at("job"), "");
    EXPECT_EQ(json.at("earlier_jobs"), nlohmann::json({"7"}));
    EXPECT_TRUE(json.at("log").is_null());
    EXPECT_THAT(ended.out, HasSubstr("state     complete"));
}

TEST(Status, OfARunThatWasContinuedByHandTellsOfAJobThatStillWaits) {
    const ContinuedByHand run("echo 'PENDING|N/A||Priority'");
    run.finish();

    const ProcessResult status = run.sluice({"status", "job.toml"});

    EXPECT_THAT(status.out, HasSubstr(run.owner() + "\n"));
    EXPECT_THAT(status.out, HasSubstr("Slurm     job 7 PENDING (Priority)\n"));
}

TEST(StatusOfANumber, NamesTheRunsFolderThatCannotBeReadFromHere) {
    const TemporaryFolder folder;
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("scontrol", "echo \"JobId=$4 JobName=x Command=/x/labels.csv.sluice/script.sh WorkDir=/x\"");

    const ProcessResult result =
        Process(launch_words(0, {"status", "7"}), ProcessOptions{.folder = folder.path()}).wait();

    EXPECT_EQ(result.exit_code, 66);
    EXPECT_THAT(result.err, HasSubstr("error[E-RUN-116]: 7: has no run: none found at '/x/labels.csv.sluice'\n"));
}

TEST(Status, NamesTheLogOfAJobWhereSlurmPutsIt) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    slurm.add("squeue", "echo 'PENDING|N/A||Priority'");
    slurm.add("scontrol",
              "echo \"JobId=$4 JobName=x Command=labels.csv.sluice/script.sh WorkDir=/a b StdErr=/a "
              "b/slurm-$4.out StdOut=/a b/slurm-$4.out$([ $4 = 7 ] || echo ' Power=')\"");
    const auto sluice = [&](const std::vector<std::string>& words) {
        std::vector<std::string> all = launch_words(0, words);
        all.insert(all.begin(), {"/usr/bin/env", "SLURM_JOB_ID=7"});
        return Process(all, ProcessOptions{.folder = job.path()}).wait();
    };
    ASSERT_EQ(sluice({"submit", "job.toml", "--set", "slurm.skip=[\"output\"]"}).exit_code, 0);

    EXPECT_THAT(sluice({"status", "job.toml"}).out, HasSubstr("log       /a b/slurm-7.out\n"));
    EXPECT_THAT(sluice({"status", "7"}).out, HasSubstr("Slurm     job 7 PENDING"));
    ASSERT_EQ(sluice({"follow", "--plan", "labels.csv.sluice/plan.toml", "--job", "8"}).exit_code, 0);
    EXPECT_THAT(sluice({"status", "job.toml"}).out, HasSubstr("log       /a b/slurm-8.out\n"));

    slurm.add("scontrol", "exit 1");
    ASSERT_EQ(sluice({"follow", "--plan", "labels.csv.sluice/plan.toml", "--job", "9"}).exit_code, 0);
    EXPECT_THAT(sluice({"status", "job.toml"}).out, Not(HasSubstr("log "))) << "nobody knows";
}

/// What `sluice drain` says of a run that was submitted as job 7, with `status`, where squeue does `answer`.
ProcessResult drain(const JobFolder& job, const std::optional<RunStatus>& status, const std::string& answer) {
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("squeue", answer);
    const auto folder = job.path() / "labels.csv.sluice";
    std::filesystem::remove_all(folder);
    create_own_folder(folder);
    write_submission(folder / "submitted.json", {.job = "7"});
    if (status) {
        EXPECT_EQ(write_run_status(folder / "status.json", *status), 0);
    }
    ProcessResult result = Process(launch_words(0, {"drain", "job.toml"}), ProcessOptions{.folder = job.path()}).wait();
    EXPECT_EQ(std::filesystem::exists(folder / "drain"), result.exit_code == 0) << result.err;
    return result;
}

TEST(Drain, OfARunOfWhichNothingIsUnderWayIsRefused) {
    const JobFolder job(1);
    const RunStatus running{.job = "7"};
    RunStatus stopped = running;
    stopped.end = RunEnd{.code = 75, .again = true, .text = {}};
    const std::string waits = "echo 'PENDING|N/A||BeginTime'";
    const std::string gone = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1";

    EXPECT_EQ(drain(job, running, gone).exit_code, 0);
    EXPECT_EQ(drain(job, stopped, waits).exit_code, 0);
    EXPECT_EQ(drain(job, std::nullopt, waits).exit_code, 0);
    EXPECT_EQ(drain(job, stopped, "exit 1").exit_code, 0) << "a request may find somebody, and harms nobody";
    const ProcessResult ended = drain(job, stopped, gone);
    EXPECT_EQ(ended.exit_code, 66);
    EXPECT_THAT(ended.err, HasSubstr("E-SLM-117"));
    EXPECT_THAT(ended.err, HasSubstr("nothing to drain: the last attempt has ended with exit code 75"));
    EXPECT_EQ(drain(job, std::nullopt, gone).exit_code, 66);
    EXPECT_EQ(drain(job, std::nullopt, "echo 'COMPLETED|N/A|n0|None'").exit_code, 66) << "Slurm still remembers it";
}

TEST(Drain, IsAskedForOnceMoreWithoutHarm) {
    const JobFolder job(1);
    ASSERT_EQ(drain(job, RunStatus{.job = "7"}, "exit 0").exit_code, 0);

    const ProcessResult again =
        Process(launch_words(0, {"drain", "job.toml"}), ProcessOptions{.folder = job.path()}).wait();

    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.out, HasSubstr("drain requested"));
}

TEST(Drain, OfACompleteRunIsRefused) {
    const JobFolder job(1);
    ASSERT_EQ(job.run_alone({}).exit_code, 0);

    const ProcessResult result =
        Process(launch_words(0, {"drain", "labels.csv"}), ProcessOptions{.folder = job.path()}).wait();

    EXPECT_EQ(result.exit_code, 66);
    EXPECT_THAT(result.err, HasSubstr("nothing to drain: the run is complete"));
}

TEST(Status, OfAHostWhoseClockIsAheadIsOfNow) {
    const JobFolder job(1);
    const std::filesystem::path folder = job.path() / "labels.csv.sluice";
    create_own_folder(folder);
    constexpr double far_ahead = 4e9;  // the year 2096
    ASSERT_EQ(write_run_status(folder / "status.json",
                               RunStatus{.state = RunState::running, .host = "n0", .updated = far_ahead}),
              0);

    const ProcessResult result =
        Process(launch_words(0, {"status", "labels.csv"}), ProcessOptions{.folder = job.path()}).wait();

    EXPECT_THAT(result.out, HasSubstr("state     running, 0.0 s ago\n"));
}

TEST(JobThatDiesOnceItsOutputIsComplete, HasEndedWell) {
    const JobFolder job(3);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("squeue", "echo 'FAILED|N/A|n0|OutOfMemory'");
    ASSERT_EQ(job.run_alone({}).exit_code, 0);
    const std::filesystem::path folder = job.path() / "labels.csv.sluice";
    RunStatus last = read_run_status(folder / "status.json").value_or(RunStatus{});
    std::filesystem::remove_all(folder / "attempts");  // which say that its process was here
    last.state = RunState::running;
    last.job = "7";
    last.host = "n0";
    last.updated = unix_seconds() - 5;
    last.end.reset();
    ASSERT_EQ(write_run_status(folder / "status.json", last), 0);
    write_submission(folder / "submitted.json", {.job = "7"});

    const auto sluice = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"/usr/bin/env", "SLURM_JOB_ID=7", SLUICE_PROGRAM});
        return Process(words, ProcessOptions{.folder = job.path()}).wait();
    };

    EXPECT_THAT(sluice({"status", "labels.csv"}).out, HasSubstr("state     complete, exit code 0\n"));
    const ProcessResult reason = sluice({"stop-reason", "--plan", "labels.csv.sluice/plan.toml", "--srun-rc", "137"});
    EXPECT_EQ(reason.out, "0 no\n");
    EXPECT_THAT(reason.err, HasSubstr("the output is complete"));
}

TEST(Status, StaysThatOfTheLivingAttemptWhichASubmittedJobMeets) {
    const JobFolder job(held_texts(40, 8));
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    slurm.add("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    ASSERT_EQ(Process(launch_words(0, {"submit", "job.toml"}), ProcessOptions{.folder = job.path()}).wait().exit_code,
              0);
    const auto living = job.start_alone(set({"pipeline.chunk_items=4"}));
    ASSERT_TRUE(eventually([&] { return job.is_held(living->pid()); }));
    living->send(SIGSTOP);  // so that it does not write over what another one has written
    const auto file = job.path() / "labels.csv.sluice/status.json";
    const std::optional<RunStatus> before = read_run_status(file);

    std::vector<std::string> words = launch_words(0, {"exec", "--plan", "labels.csv.sluice/plan.toml"});
    words.insert(words.begin(), {"/usr/bin/env", "SLURM_JOB_ID=7", "SLUICE_RESUME=requeue", "SLUICE_MAX=3"});
    const ProcessResult refused = Process(words, {.folder = job.path()}).wait();

    EXPECT_EQ(refused.exit_code, 79) << refused.err;
    ASSERT_TRUE(before);
    EXPECT_EQ(before->process, living->pid());
    EXPECT_EQ(read_run_status(file), before);
}

/// With another code srun would end the job's other ranks before they have committed.
TEST(Exec, OfARunThatStopsEarlyEndsWell) {
    const JobFolder job(held_texts(40, 8));
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    slurm.add("squeue", "exit 1");
    std::vector<std::string> words = launch_words(0, {"submit", "job.toml", "--set", "pipeline.chunk_items=4"});
    ASSERT_EQ(Process(words, ProcessOptions{.folder = job.path()}).wait().exit_code, 0);
    words = launch_words(0, {"exec", "--plan", "labels.csv.sluice/plan.toml"});
    words.insert(words.begin(), {"/usr/bin/env", "SLURM_JOB_ID=7"});
    Process rank(words, ProcessOptions{.folder = job.path()});
    ASSERT_TRUE(eventually([&] { return job.is_held(rank.pid()); }));

    rank.send(SIGUSR1);
    ASSERT_TRUE(eventually([&] { return rank.err().find("finishing the chunks in flight") != std::string::npos; }));
    job.release();

    EXPECT_EQ(rank.wait().exit_code, 0) << rank.err();
    const std::optional<RunStatus> status = read_run_status(job.path() / "labels.csv.sluice/status.json");
    ASSERT_TRUE(status && status->end);
    EXPECT_EQ(status->end->code, 75);
}

}  // namespace
}  // namespace sluice::test
