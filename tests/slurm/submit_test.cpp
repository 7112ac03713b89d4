// `sluice submit`, with programs that play Slurm.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/e2e/early_end.hpp"
#include "tests/slurm/fake_programs.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

ProcessResult submit_job(const JobFolder& job) {
    return Process(launch_words(0, {"submit", "job.toml"}), ProcessOptions{.folder = job.path()}).wait();
}

TEST(Submit, LooksForTheFilesOfTheJobBeforeItHandsItToSlurm) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    const auto submit = [&](const std::string& change, const std::string& option) {
        return Process(launch_words(0, {"submit", "job.toml", "--set", change, option}),
                       ProcessOptions{.folder = job.path()})
            .wait();
    };
    for (const auto& [change, code] : {std::pair{"input.path=absent.txt", 66},
                                       {"model.weights=absent.safetensors", 66},
                                       {"output.report=absent/report.json", 73}}) {
        const ProcessResult result = submit(change, "--json");
        EXPECT_EQ(result.exit_code, code) << result.err;
        EXPECT_THAT(result.err, HasSubstr("absent"));
        EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv.sluice"));
    }
    EXPECT_EQ(submit("input.path=absent.txt", "--no-files").exit_code, 0);
}

TEST(Submit, LooksForThemInADryRunToo) {
    const JobFolder job(1);
    const auto submit = [&](const std::vector<std::string>& more) {
        return run_sluice(job, joined({"submit", "job.toml", "--dry-run"}, more));
    };

    const ProcessResult refused = submit(set({"input.path=absent.txt"}));
    const ProcessResult unchecked = submit(joined({"--no-files"}, set({"input.path=absent.txt"})));
    const ProcessResult nowhere = submit(set({"output.path=absent/labels.csv", "output.report=report.json"}));
    const ProcessResult dry = submit({"--", "--qos=high", "--job-name=a 'b"});

    EXPECT_EQ(refused.exit_code, 66);
    EXPECT_THAT(refused.err, HasSubstr("absent.txt"));
    EXPECT_EQ(refused.out, "");
    EXPECT_EQ(unchecked.exit_code, 0) << unchecked.err;
    EXPECT_EQ(nowhere.exit_code, 73);
    EXPECT_THAT(nowhere.err, HasSubstr("absent/labels.csv: "));
    EXPECT_EQ(dry.exit_code, 0) << dry.err;
    EXPECT_THAT(dry.out, HasSubstr("\n# sbatch --parsable --qos=high '--job-name=a '\\''b' /"));
    job.expect_nothing_left();

    write_file(job.path() / "labels.csv", "mine");
    const ProcessResult taken = submit({});
    EXPECT_EQ(taken.exit_code, 73);
    EXPECT_THAT(taken.err, HasSubstr("labels.csv: exists already"));
    EXPECT_EQ(contents(job.path() / "labels.csv"), "mine");
    std::filesystem::remove(job.path() / "labels.csv");

    ASSERT_EQ(job.run_alone({}).exit_code, 0);
    EXPECT_THAT(submit({}).out, HasSubstr("labels.csv is already complete: 1 item\n")) << "submit would do no more";
}

TEST(Submit, OfAJobThatWouldReplaceItsInputIsRefused) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "touch submitted; echo 7");
    std::filesystem::create_directory(job.path() / "texts");
    std::filesystem::rename(job.path() / "articles.txt", job.path() / "texts/1.txt");
    std::filesystem::create_hard_link(job.path() / "texts/1.txt", job.path() / "labels.csv");

    const ProcessResult result =
        run_sluice(job, joined({"submit", "job.toml"}, set({"input.path=texts/*.txt", "input.format=txt"})));

    EXPECT_EQ(result.exit_code, 77) << result.out;
    EXPECT_THAT(result.err, HasSubstr("E-SEC-019"));
    EXPECT_FALSE(std::filesystem::exists(job.path() / "submitted"));
}

TEST(Submit, OfACompleteOutputSaysSoAtOnceAsARunDoes) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "touch submitted; echo 7");
    const auto submit = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words{"submit", "job.toml"};
        words.insert(words.end(), more.begin(), more.end());
        return Process(launch_words(0, words), ProcessOptions{.folder = job.path()}).wait();
    };
    ASSERT_EQ(job.run_alone({}).exit_code, 0);

    const ProcessResult plain = submit({"--wait"});
    const ProcessResult json = submit({"--json"});
    const ProcessResult other = submit({"--set", "output.scores=false"});

    EXPECT_EQ(plain.exit_code, 0) << plain.err;
    EXPECT_THAT(plain.out, HasSubstr("labels.csv is already complete: 1 item\n"));
    EXPECT_EQ(json.exit_code, 0) << json.err;
    EXPECT_THAT(json.out, HasSubstr("\"complete\": true"));
    EXPECT_THAT(json.out, HasSubstr("\"items\": 1"));
    EXPECT_EQ(other.exit_code, 73) << "the complete output is of another job";
    EXPECT_FALSE(std::filesystem::exists(job.path() / "submitted"));
}

TEST(Submit, OfAnotherJobThanTheUnfinishedRunsIsRefusedAsARunIs) {
    const JobFolder job(mostly_held_texts(300));
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "touch submitted; echo 7");
    slurm.add("squeue", "exit 0");
    const auto submit = [&](const std::vector<std::string>& more) {
        return run_sluice(job, joined({"submit", "job.toml"}, more));
    };
    ASSERT_EQ(stop_early(job, small_chunks).exit_code, 75);
    const std::vector<std::string> before = names_in(job.path() / "labels.csv.sluice");

    for (const char* change : {"output.scores=false", "model.random=18", "pipeline.chunk_items=16"}) {
        const ProcessResult run = job.run_alone(set({change}));
        const auto last_entry = std::filesystem::last_write_time(job.path());  // was made or removed then
        const ProcessResult refused = submit(set({change}));

        EXPECT_EQ(refused.exit_code, 78) << refused.err;
        EXPECT_THAT(refused.err, HasSubstr("E-CKP-090"));
        EXPECT_THAT(run.err, testing::EndsWith(refused.err)) << "a run may warn of the file system before";
        EXPECT_EQ(std::filesystem::last_write_time(job.path()), last_entry) << "not even for a moment";
    }
    EXPECT_FALSE(std::filesystem::exists(job.path() / "submitted"));
    EXPECT_EQ(names_in(job.path() / "labels.csv.sluice"), before) << "it writes nothing";
    EXPECT_EQ(submit({}).out, "7\n") << "the run's own job";
    EXPECT_EQ(submit(joined({"--no-files"}, set({"output.scores=false"}))).exit_code, 0) << "nobody looks";
}

TEST(Submit, SubmitsOneJobOfAnOutputHoweverOftenItIsCalledMeanwhile) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "read -r _ <>fifo; echo 7");
    slurm.add("squeue", "echo 'PENDING|N/A||JobHeldUser'");
    ASSERT_EQ(::mkfifo((job.path() / "fifo").c_str(), 0600), 0);
    const auto start = [&] {
        return std::make_unique<Process>(launch_words(0, {"submit", "job.toml"}), ProcessOptions{.folder = job.path()});
    };

    const auto first = start();
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(job.path() / "labels.csv.sluice/script.sh"); }));
    const ProcessResult meanwhile = start()->wait();
    std::fstream fifo(job.path() / "fifo");  // both ways: waits for nobody, and keeps what is written until it is read
    fifo << "go on\n" << std::flush;
    const ProcessResult submitted = first->wait();
    const ProcessResult later = start()->wait();

    EXPECT_EQ(submitted.out, "7\n") << submitted.err;
    for (const ProcessResult& refused : {meanwhile, later}) {
        EXPECT_EQ(refused.exit_code, 79) << refused.err;
        EXPECT_THAT(refused.err, HasSubstr("error[E-OUT-079]: "));
    }
    EXPECT_THAT(later.err, HasSubstr("job 7, PENDING (JobHeldUser), was already submitted for it"));
}

TEST(Submit, AsksOfTheJobsOwnScriptWhetherItCouldRun) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo \"$1\" >option; cat \"$2\" >script; echo 'to start at noon' >&2");

    const ProcessResult result = run_sluice(job, {"submit", "job.toml", "--test-only"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "to start at noon\n");
    EXPECT_EQ(contents(job.path() / "option"), "--test-only\n");
    EXPECT_EQ(contents(job.path() / "script"), run_sluice(job, {"script", "job.toml"}).out);
    EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv.sluice"));
}

TEST(Submit, LeavesNothingBehindOfAJobThatSbatchRejects) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 'invalid partition' >&2; exit 1");

    const ProcessResult result = submit_job(job);
    const ProcessResult tested = run_sluice(job, {"submit", "job.toml", "--test-only"});

    EXPECT_EQ(result.exit_code, 69) << result.err;
    EXPECT_EQ(tested.exit_code, 69) << tested.out;
    EXPECT_THAT(tested.err, HasSubstr("rejected the job with exit code 1: invalid partition"));
    EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv.sluice"));
}

TEST(Submit, KeepsWhatEarlierJobsNeedWhereSbatchRejectsALaterOne) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    slurm.add("squeue", "exit 0");
    ASSERT_EQ(submit_job(job).exit_code, 0);
    const std::filesystem::path folder = job.path() / "labels.csv.sluice";
    const std::vector<std::string> before = names_in(folder);
    slurm.add("sbatch", "echo 'invalid partition' >&2; exit 1");

    const ProcessResult rejected = run_sluice(job, {"submit", "job.toml", "--retry"});

    EXPECT_EQ(rejected.exit_code, 69) << rejected.out;
    EXPECT_EQ(names_in(folder), before) << "without the request to try again";
}

TEST(Submit, LeavesNothingBehindWhereThereIsNoSbatch) {
    const JobFolder job(1);
    const FakePrograms none(FakePrograms::Others::hidden);

    const ProcessResult result = submit_job(job);

    EXPECT_EQ(result.exit_code, 69);
    EXPECT_THAT(result.err, HasSubstr("error[E-SLM-074]: sbatch: cannot start it"));
    job.expect_nothing_left();
}

TEST(Submit, KeepsTheFilesOfAJobThatSlurmMayHaveAccepted) {
    for (const char* problem : {"Socket timed out on send/recv operation", "Zero Bytes were transmitted or received",
                                "Message receive failure"}) {
        const JobFolder job(1);
        const FakePrograms slurm(FakePrograms::Others::seen);
        slurm.add("sbatch", std::string("echo 'sbatch: error: ") + problem + "' >&2; exit 1");

        const ProcessResult result = submit_job(job);

        EXPECT_EQ(result.exit_code, 69);
        EXPECT_THAT(result.err, HasSubstr("E-SLM-075]: sbatch: got no answer from Slurm's controller"));
        EXPECT_THAT(result.err, HasSubstr("hint: `squeue --me` shows whether it accepted the job anyway\n"));
        EXPECT_TRUE(std::filesystem::exists(job.path() / "labels.csv.sluice/plan.toml"));
    }
}

TEST(Submit, KeepsTheFilesOfAJobWhoseSbatchWasKilled) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "kill -KILL $$");

    const ProcessResult result = submit_job(job);

    EXPECT_EQ(result.exit_code, 69);
    EXPECT_THAT(result.err, HasSubstr("E-SLM-075]: sbatch: was killed (exit code 137)\n"));
    EXPECT_THAT(result.err, HasSubstr("hint: `squeue --me` shows whether it accepted the job anyway\n"));
    EXPECT_TRUE(std::filesystem::exists(job.path() / "labels.csv.sluice/plan.toml")) << "which the job may read soon";
}

/// 128 and a signal's number, as shells do: 1 to 64.
TEST(Submit, TellsAKilledSbatchFromOneThatRejectsTheJob) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    const auto may_be_accepted = [&](int sbatchs_exit_code) {
        slurm.add("sbatch", "exit " + std::to_string(sbatchs_exit_code));
        EXPECT_EQ(submit_job(job).exit_code, 69);
        return std::filesystem::remove_all(job.path() / "labels.csv.sluice") != 0;
    };

    EXPECT_FALSE(may_be_accepted(128));
    EXPECT_TRUE(may_be_accepted(129));
    EXPECT_TRUE(may_be_accepted(192));
    EXPECT_FALSE(may_be_accepted(193));
}

TEST(Submit, DoesNotTakeWhatIsNoNumberForAJob) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo accepted");

    const ProcessResult result = submit_job(job);

    EXPECT_EQ(result.exit_code, 69) << result.out;
    EXPECT_THAT(result.err, HasSubstr("E-SLM-075]: sbatch: got 'accepted"));
    EXPECT_TRUE(std::filesystem::exists(job.path() / "labels.csv.sluice/plan.toml")) << "which the job may read soon";
    EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv.sluice/submitted.json"));
}

TEST(Submit, NamesAJobThatSlurmHasAcceptedButThatCannotBeNoted) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "mkdir -p labels.csv.sluice/submitted.json/x; echo 4711");

    const ProcessResult result = submit_job(job);

    EXPECT_EQ(result.exit_code, 73) << result.err;
    EXPECT_THAT(result.err, HasSubstr("Slurm has accepted job 4711, which could not be noted"));
    EXPECT_THAT(result.err, HasSubstr("scancel 4711"));
}

TEST(Submit, MakesNoSecondJobWhereSqueueSaysWhatItDoesNotUnderstand) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    ASSERT_EQ(submit_job(job).exit_code, 0);
    slurm.add("squeue", "echo garbage");

    const ProcessResult again = submit_job(job);

    EXPECT_EQ(again.exit_code, 69) << again.out;
    EXPECT_THAT(again.err, HasSubstr("error[E-SLM-113]: squeue: says 'garbage'"));
}

TEST(Submit, KeepsTheOptionsBehindTheDashesForJobsThatFollow) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo \"$*\" >words; echo 7");
    slurm.add("squeue", "echo 'COMPLETED|N/A|n0|None'");
    const auto options_after = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words{"submit", "job.toml", "--"};
        words.insert(words.end(), more.begin(), more.end());
        EXPECT_EQ(Process(launch_words(0, words), ProcessOptions{.folder = job.path()}).wait().exit_code, 0);
        return contents(job.path() / "labels.csv.sluice/options");
    };

    EXPECT_EQ(options_after({"--qos=high", "--job-name=a 'b"}), "--qos=high\n--job-name=a 'b");
    EXPECT_THAT(contents(job.path() / "words"), testing::StartsWith("--parsable --qos=high --job-name=a 'b /"));
    EXPECT_EQ(options_after({}), "");
}

TEST(Submit, ForgetsWhatWasAskedOfEarlierJobs) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    slurm.add("squeue", "exit 0");
    const auto folder = job.path() / "labels.csv.sluice";
    create_own_folder(folder);
    for (const char* request : {"drain", "retry"}) {
        write_file(folder / request, {});
    }

    ASSERT_EQ(submit_job(job).exit_code, 0);

    EXPECT_FALSE(std::filesystem::exists(folder / "drain"));
    EXPECT_FALSE(std::filesystem::exists(folder / "retry"));
    slurm.add("sbatch", "echo '8;east'");
    const ProcessResult retried = run_sluice(job, {"submit", "job.toml", "--retry", "--json"});
    EXPECT_THAT(retried.out, HasSubstr("\"job\": \"8\""));
    EXPECT_THAT(retried.out, HasSubstr("\"cluster\": \"east\""));
    EXPECT_TRUE(std::filesystem::exists(folder / "retry")) << "of this one";
}

TEST(Submit, OfAnOutputInWhosePlaceAFileHasAppearedIsRefused) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    slurm.add("squeue", "exit 0");
    ASSERT_EQ(submit_job(job).exit_code, 0);
    write_file(job.path() / "labels.csv", "mine");

    const ProcessResult result = run_sluice(job, {"submit", "job.toml", "--no-files"});

    EXPECT_EQ(result.exit_code, 73) << result.out;
    EXPECT_THAT(result.err, HasSubstr("E-OUT-022"));
}

TEST(Submit, KeepsItsOwnFilesPrivateAndLeavesTheJobTheUsersUmask) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "umask >umask; echo 7");
    const mode_t before = ::umask(0027);

    const ProcessResult result = submit_job(job);
    ::umask(before);

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(contents(job.path() / "umask"), "0027\n");
    for (const char* name : {"plan.toml", "script.sh", "options"}) {
        struct stat status {};
        ASSERT_EQ(::stat((job.path() / "labels.csv.sluice" / name).c_str(), &status), 0) << name;
        EXPECT_EQ(status.st_mode & 0077U, 0U) << name;
    }
}

TEST(Submit, LearnsSbatchsEndWhoeverStartsIt) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    std::vector<std::string> words = launch_words(0, {"submit", "job.toml"});
    words.insert(words.begin(), {"/usr/bin/env", "--ignore-signal=CHLD"});

    const ProcessResult result = Process(words, {.folder = job.path()}).wait();

    EXPECT_EQ(result.out, "7\n") << result.err;
}

TEST(Submit, BySluiceAtAPlaceThatSlurmCannotBeToldIsRefused) {
    const JobFolder job(1);
    const std::filesystem::path folder = job.path() / "a b";
    std::filesystem::create_directory(folder);
    const std::string program = launch_words(0, {}).front();
    std::filesystem::copy_file(program, folder / "sluice");

    const ProcessResult result = Process({folder / "sluice", "script", "job.toml"}, {.folder = job.path()}).wait();

    EXPECT_EQ(result.exit_code, 78) << result.out;
    EXPECT_THAT(result.err, HasSubstr("E-SLM-112"));
}

TEST(Submit, AndCheckWarnOfANoticeThatLeavesLittleOfTheTime) {
    const JobFolder job(1);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    slurm.add("squeue", "exit 0");
    const auto with_notice = [&](const std::string& command, const std::string& notice) {
        const ProcessResult result = Process(launch_words(0, {command, "job.toml", "--set", "slurm.time=3m", "--set",
                                                              "slurm.resume.notice=" + notice}),
                                             ProcessOptions{.folder = job.path()})
                                         .wait();
        EXPECT_EQ(result.exit_code, 0) << result.err;
        return result.err;
    };

    for (const char* command : {"check", "submit"}) {
        EXPECT_THAT(with_notice(command, "240s"), HasSubstr("warning[W-SLM-160]: slurm.resume.notice: Slurm may stop"));
        EXPECT_EQ(with_notice(command, "auto"), "");
    }
}

}  // namespace
}  // namespace sluice::test
