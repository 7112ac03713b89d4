#include "slurm/run_status.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "slurm/status_text.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

RunStatus some_status() {
    return {.state = RunState::running,
            .job = "4711",
            .restarts = 2,
            .attempt = 3,
            .most_attempts = 4,
            .host = "n07",
            .process = 1234,
            .output = "/data/a \"b\"\n.csv",
            .items = 1000,
            .items_before = 100,
            .items_done = 400,
            .items_committed = 380,
            .chunks = 100,
            .chunks_before = 10,
            .chunks_done = 40,
            .chunks_committed = 38,
            .items_per_second = 12.5,
            .mean_items_per_second = 10.25,
            .seconds_left = 58.5,
            .limit = 1732190000.5,
            .started = 1732180000.25,
            .updated = 1732180030,
            .ranks = {{.host = "n07", .chunks = 20, .items = 200, .items_per_second = 8, .seconds_since_chunk = 0.5},
                      {.host = "n08", .chunks = 10, .items = 100, .items_per_second = 4.5, .seconds_since_chunk = 1}},
            .slowest = 1};
}

void add_keys(const nlohmann::json& json, std::set<std::string>& keys) {
    for (const auto& [key, value] : json.items()) {
        if (json.is_object()) {
            keys.insert(key);
        }
        if (value.is_structured()) {
            add_keys(value, keys);
        }
    }
}

TEST(RunStatus, HasEveryKeyInTheDocumentation) {
    const std::string page = test::contents(SLUICE_SOURCE_DIR "/docs/slurm.md");
    RunStatus status = some_status();
    status.end = RunEnd{};
    RunView squeue{.status = status};
    squeue.queued.emplace();
    RunView sacct = squeue;
    sacct.record.emplace();

    std::set<std::string> keys;
    add_keys(nlohmann::json::parse(status_json(squeue)), keys);
    add_keys(nlohmann::json::parse(status_json(sacct)), keys);

    EXPECT_TRUE(keys.contains("seconds_since_chunk") && keys.contains("reason") && keys.contains("exit_code"));
    for (const std::string& key : keys) {
        EXPECT_THAT(page, HasSubstr("`" + key + "`"));
    }
}

TEST(RunStatus, ReadsBackToItself) {
    RunStatus status = some_status();
    EXPECT_EQ(decode_run_status(encode(status)), status);

    status.items_estimated = true;
    status.seconds_left.reset();
    status.limit.reset();
    status.slowest.reset();
    status.ranks.clear();
    status.end = RunEnd{
        .code = 75, .again = true, .signal = 10, .text = {.id = "E-RUN-075", .where = "w", .what = "s", .hint = "h"}};
    EXPECT_EQ(decode_run_status(encode(status)), status);
    EXPECT_EQ(decode_run_status(encode(RunStatus{})), RunStatus{});
}

TEST(RunStatus, OfAVersionThatToldLessIsRead) {
    nlohmann::json older = nlohmann::json::parse(encode(some_status()));
    for (const char* key : {"items_committed", "chunks_committed", "items_estimated", "attempt", "most_attempts"}) {
        older.erase(key);
    }

    const auto read = decode_run_status(older.dump());

    ASSERT_TRUE(read);
    EXPECT_EQ(read->chunks_done, 40U);
    EXPECT_EQ(read->chunks_committed, std::nullopt);
    EXPECT_EQ(read->attempt, 1U);
    EXPECT_EQ(read->most_attempts, std::nullopt);
    EXPECT_THAT(status_text({.status = read}), HasSubstr("chunks 40 of 100 written\n"));
}

TEST(RunStatus, ThatIsDamagedIsNone) {
    const std::string whole = encode(some_status());

    for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
        EXPECT_EQ(decode_run_status(std::string_view(whole).substr(0, size)), std::nullopt) << size;
    }
    for (const char* text : {"{}", "[]", "null", "1", "{\"version\":2}", "{\"version\":1,\"state\":\"dreaming\"}"}) {
        EXPECT_EQ(decode_run_status(text), std::nullopt) << text;
    }
}

TEST(RunStatus, HasNoNumbersThatJsonCannotHold) {
    RunStatus status = some_status();
    status.items_per_second = NAN;
    status.ranks[0].items_per_second = INFINITY;

    const auto read = decode_run_status(encode(status));

    ASSERT_TRUE(read);
    EXPECT_EQ(read->items_per_second, 0);
    EXPECT_EQ(read->ranks[0].items_per_second, 0);
}

TEST(RunStatusFile, IsReplacedAsAWholeAndReadByWhoMayEnterItsFolder) {
    const TemporaryFolder folder;
    const auto file = folder.path() / "status.json";
    EXPECT_EQ(read_run_status(file), std::nullopt);

    EXPECT_EQ(write_run_status(file, some_status()), 0);
    EXPECT_EQ(write_run_status(file, some_status()), 0);

    EXPECT_EQ(read_run_status(file), some_status());
    EXPECT_EQ(test::names_in(folder.path()), (std::vector<std::string>{"status.json"}));
    struct stat status {};
    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    const mode_t mask = ::umask(0);
    ::umask(mask);
    EXPECT_EQ(status.st_mode & 0777U, 0666U & ~mask);
    EXPECT_EQ(write_run_status(folder.path() / "none" / "status.json", some_status()), ENOENT);
}

TEST(RunStatusFile, IsWrittenOverByItsProcessWhereThereIsNoRoomForAnotherFile) {
    const TemporaryFolder folder;
    constexpr std::size_t too_long_for_more = 250;  // characters of a name, of 255
    const auto file = folder.path() / std::string(too_long_for_more, 's');
    const RunStatus running = some_status();
    RunStatus longer = running;
    longer.end = RunEnd{.code = 74, .text = {.id = "E-IO-002", .what = std::string(1000, 'x')}};
    RunStatus other = running;
    ++other.process;
    RunStatus elsewhere = running;
    elsewhere.host = "n08";

    EXPECT_EQ(write_run_status(file, running), ENAMETOOLONG);
    std::ofstream(file) << encode(running);
    EXPECT_EQ(write_run_status(file, other), ENAMETOOLONG);
    EXPECT_EQ(write_run_status(file, elsewhere), ENAMETOOLONG);
    EXPECT_EQ(read_run_status(file), running);
    EXPECT_EQ(write_run_status(file, longer), 0);
    EXPECT_EQ(read_run_status(file), longer);
    EXPECT_EQ(write_run_status(file, running), 0);
    EXPECT_EQ(read_run_status(file), running);
    EXPECT_EQ(std::filesystem::file_size(file), encode(running).size());
}

TEST(RunStatusFile, IsWrittenByTwoAttemptsAtOnceWithoutTrouble) {
    const TemporaryFolder folder;
    const auto file = folder.path() / "status.json";
    std::atomic<int> failed = 0;
    const auto write_many = [&] {
        for (int i = 0; i < 500; ++i) {
            failed += write_run_status(file, some_status()) == 0 ? 0 : 1;
        }
    };

    std::thread other(write_many);
    write_many();
    other.join();

    EXPECT_EQ(failed, 0);
    EXPECT_EQ(read_run_status(file), some_status());
    EXPECT_EQ(test::names_in(folder.path()), (std::vector<std::string>{"status.json"}));
}

TEST(StatusText, TellsProgressRateAndTheSlowestRank) {
    const std::string text = status_text({.status = some_status(), .age = 0.5, .job = "4711"});

    EXPECT_THAT(text, HasSubstr("state     running, 0.5 s ago\n"));
    EXPECT_THAT(text, HasSubstr("attempt   3 of at most 4, job 4711, rank 0 on n07\n"));
    EXPECT_THAT(text, HasSubstr("progress  400 of 1000 items (40.0 %): 300 in this run, 100 before; chunks 40 of 100 "
                                "written, 38 committed\n"));
    EXPECT_THAT(text, HasSubstr("12.5 items/s written, 10.2 on average; 00:00:59 left\n"));
    EXPECT_THAT(text,
                HasSubstr("\nresults returned, which are then written in the order of the items:\n  rank    chunks "));
    EXPECT_THAT(text, HasSubstr("n08  slowest\n"));
}

TEST(StatusText, ShowsTheSlowestOfManyRanks) {
    RunStatus status = some_status();
    status.ranks.assign(400, {.host = "n07", .chunks = 1'000'000, .items = 20'000'000'000, .items_per_second = 0.05});
    status.ranks[300] = {.host = "n99", .chunks = 7, .items = 70, .items_per_second = 0.001};
    status.slowest = 300;

    const std::string text = status_text({.status = status, .age = 0.5, .job = "4711"});

    EXPECT_THAT(text, HasSubstr("   300         7            70       0.001     0.0 s ago  n99  slowest\n"));
    EXPECT_THAT(text, HasSubstr("     0   1000000   20000000000        0.05     0.0 s ago  n07\n"));
    EXPECT_THAT(text, HasSubstr("\n  400 ranks in all; --json has every one\n"));
    status.slowest = 31;
    EXPECT_THAT(status_text({.status = status, .age = 0.5}), Not(HasSubstr("slowest\n    31 "))) << "only once";
}

TEST(SlowestRank, IsOneThatIsClearlySlowerThanTheOthers) {
    const auto slowest = [](const std::vector<double>& rates) {
        std::vector<RankStatus> ranks;
        for (const double rate : rates) {
            ranks.push_back({.items_per_second = rate});
        }
        return find_slowest(ranks);
    };

    EXPECT_EQ(slowest({10, 10}), std::nullopt);
    EXPECT_EQ(slowest({10, 9.5, 10.5, 9.8}), std::nullopt);
    EXPECT_EQ(slowest({0, 0}), std::nullopt) << "nobody has returned anything yet";
    EXPECT_EQ(slowest({5}), std::nullopt);
    EXPECT_EQ(slowest({}), std::nullopt);
    EXPECT_EQ(slowest({10, 8}), 1U);
    EXPECT_EQ(slowest({8, 10, 10}), 0U);
    EXPECT_EQ(slowest({8, 8, 10}), std::nullopt);
    EXPECT_EQ(slowest({10, 8, 8, 8}), std::nullopt) << "one is quick, none is slow";
}

TEST(StatusText, SaysWhenTheRunHasFallenSilent) {
    EXPECT_THAT(status_text({.status = some_status(), .age = 100}),
                HasSubstr("running when last seen, 00:01:40 ago: it has ended or is stuck"));
    EXPECT_THAT(
        status_text({.status = some_status(), .age = 100, .job = "7", .queued = QueuedJob{.state = "SUSPENDED"}}),
        HasSubstr("running when last seen, 00:01:40 ago: its job is suspended\n"));
    EXPECT_THAT(status_text({.status = some_status(), .age = 1}), HasSubstr("; 00:00:59 left\n"));
    EXPECT_THAT(status_text({.status = some_status(), .age = 100}), Not(HasSubstr(" left\n")));
}

TEST(StatusText, SaysThatItsJobHasEndedWithoutAWord) {
    RunStatus status = some_status();
    status.job = "7";
    RunView view{.status = status, .age = 6, .job = "7", .queued = QueuedJob{.state = "FAILED"}};

    EXPECT_THAT(status_text(view), HasSubstr("when last seen, 00:00:06 ago: its job has ended (FAILED); `"));
    EXPECT_THAT(status_text(view), Not(HasSubstr(" left")));
    view.queued->state = "COMPLETING";
    EXPECT_THAT(status_text(view), HasSubstr("running, 6.0 s ago\n"));
    view.queued.reset();
    view.asked = true;
    EXPECT_THAT(status_text(view), HasSubstr(" ago: its job has left the queue; `"));
    view.record = JobInfo{.state = "TIMEOUT"};
    EXPECT_THAT(status_text(view), HasSubstr(" ago: its job has ended (TIMEOUT); `"));
    view.job = "8";
    EXPECT_THAT(status_text(view), HasSubstr("running, 6.0 s ago\n")) << "a later job has the run";
}

TEST(StatusText, SaysThatTheProcessIsGone) {
    const RunView view{.status = some_status(), .age = 100, .gone = true};

    EXPECT_THAT(status_text(view), AllOf(HasSubstr("running when last seen, 00:01:40 ago: its process is gone; the "
                                                   "same command resumes from what is committed\n"),
                                         HasSubstr(" written, at least 38 committed\n")));
    EXPECT_THAT(status_text({.status = some_status(), .age = 1, .gone = true}),
                AllOf(Not(HasSubstr(" left\n")), Not(HasSubstr("results returned"))));
    EXPECT_THAT(status_text({.status = some_status(), .gone = true, .job = "7"}), HasSubstr("its process is gone\n"));
    EXPECT_TRUE(is_done(view));
    EXPECT_FALSE(is_done({.status = some_status(), .age = 100, .gone = true, .job = "7"})) << "Slurm queues it again";
}

/// Its writer may commit until the process has ended.
TEST(StatusText, KnowsOnlyTheLeastThatAFailedRunHasCommitted) {
    RunStatus status = some_status();
    status.state = RunState::failed;
    status.end = RunEnd{.code = 70, .text = {.id = "E-RUN-001", .what = "rank 3 died"}};

    EXPECT_THAT(status_text({.status = status}), HasSubstr(" written, at least 38 committed\n"));
    status.chunks_done = status.chunks_committed.emplace(status.chunks);
    EXPECT_THAT(status_text({.status = status}), HasSubstr(fmt::format(" written, {} committed\n", status.chunks)));
    status = some_status();
    status.state = RunState::stopped;
    status.end = RunEnd{.code = 75, .again = true};
    EXPECT_THAT(status_text({.status = status}), HasSubstr(" written, 38 committed\n"));
}

TEST(StatusText, TellsHowItEnded) {
    RunStatus status = some_status();
    status.state = RunState::stopped;
    status.end = RunEnd{.code = 75, .again = true, .signal = 10, .text = {.id = "E-RUN-075", .what = "stopped"}};

    const std::string text = status_text({.status = status, .age = 1e6});

    EXPECT_THAT(text, HasSubstr("stopped, exit code 75; the next attempt resumes from there\n"));
    EXPECT_THAT(text, HasSubstr("notice[E-RUN-075]: stopped"));
    EXPECT_THAT(text, Not(HasSubstr("stuck")));
}

TEST(StatusText, TellsThatAPublishedFileIsMissing) {
    RunView view{.status = RunStatus{.state = RunState::complete, .end = RunEnd{}}, .missing = {"a\n.csv"}};

    EXPECT_THAT(status_text(view),
                HasSubstr("complete, exit code 0\noutput    a\\x0a.csv was published, but is missing\n"));

    view.missing.insert(view.missing.end(), {"b.csv", "c.csv"});
    EXPECT_THAT(status_text(view), HasSubstr(" is missing, and 2 other files\n"));
    EXPECT_EQ(nlohmann::json::parse(status_json(view)).at("missing").size(), 3U);
}

TEST(StatusText, TellsOfAJobBesideWhichARunIsContinuedByHand) {
    RunView view{.status = some_status(), .job = "7", .by_hand = true, .earlier = {"5"}, .asked = true};
    EXPECT_THAT(status_text(view), Not(HasSubstr("which continues after")));

    view.asked = false;
    view.trouble = "squeue: failed with 1";
    EXPECT_THAT(status_text(view), HasSubstr("Slurm     job 7; squeue: failed with 1\n")) << "it may still wait";
}

TEST(StatusText, TellsATimeThatIsTooLongToBeTrue) {
    RunStatus status = some_status();
    status.seconds_left = 1e300;

    EXPECT_THAT(status_text({.status = status}), HasSubstr("; 11574-01:46:40 left\n"));
}

TEST(StatusText, TellsProgressOnceItemsAreCountedAndRatesOnceTheyAreComputed) {
    const std::string preparing = status_text({.status = RunStatus{.items = 7}});
    EXPECT_THAT(preparing, AllOf(HasSubstr("progress  0 of 7 items"), Not(HasSubstr("rate"))));
    EXPECT_THAT(status_text({.status = RunStatus{}}), Not(HasSubstr("progress")));
    EXPECT_THAT(status_text({.status = RunStatus{.state = RunState::running}}),
                AllOf(HasSubstr("progress  0 of 0 items"), HasSubstr("rate")));
}

TEST(StatusText, TellsNoProgressOfARunThatEndedBeforeItsItemsWereCounted) {
    const auto text_of = [](RunState state, int code) {
        return status_text({.status = RunStatus{.state = state, .end = RunEnd{.code = code, .text = {}}}, .age = 1});
    };

    EXPECT_THAT(text_of(RunState::failed, 66), Not(HasSubstr("progress")));
    EXPECT_THAT(text_of(RunState::complete, 0), HasSubstr("progress  0 of 0 items (100.0 %)"));
}

TEST(StatusText, PromisesAnotherAttemptOnlyWhereOneFollows) {
    RunStatus status = some_status();
    status.state = RunState::stopped;
    status.end = RunEnd{.code = 75, .again = true, .signal = 10, .text = {.id = "E-RUN-075", .what = "stopped"}};
    const auto text_of = [&](std::uint64_t attempt, std::optional<std::uint64_t> most) {
        status.attempt = attempt;
        status.most_attempts = most;
        return status_text({.status = status, .age = 1e6});
    };

    EXPECT_THAT(text_of(3, 4), HasSubstr("code 75; the next attempt resumes from there\n"));
    EXPECT_THAT(text_of(4, 4), HasSubstr("code 75; no attempt follows, slurm.resume.max is used up: `sluice submit` "));
    EXPECT_THAT(text_of(1, 1), HasSubstr("code 75; `sluice submit` resumes from there\n"));
    EXPECT_THAT(text_of(1, std::nullopt), HasSubstr("code 75; the same command resumes from there\n"));
}

TEST(StatusText, BelievesSlurmAboutWhatFollows) {
    RunStatus status = some_status();
    status.state = RunState::stopped;
    status.attempt = 1;
    status.most_attempts = 4;
    status.end = RunEnd{.code = 75, .again = true, .signal = 10, .text = {}};
    const auto text_of = [&](const std::string& job, const std::string& state) {
        RunView view{.status = status, .age = 1e6, .job = job, .asked = true};
        if (!state.empty()) {
            view.queued = QueuedJob{.state = state};
        }
        return status_text(view);
    };

    EXPECT_THAT(text_of(status.job, "PENDING"), HasSubstr("code 75; the next attempt resumes from there\n"));
    EXPECT_THAT(text_of(status.job, ""),
                HasSubstr("code 75; no attempt follows: `sluice submit` resumes from there\n"));
    EXPECT_THAT(text_of(status.job, "COMPLETED"), HasSubstr("no attempt follows"));
    EXPECT_THAT(text_of("99", "PENDING"), HasSubstr("code 75; job 99 resumes from there\n"));
    status.attempt = 4;  // the first submission's are used up
    EXPECT_THAT(text_of("99", "PENDING"), HasSubstr("code 75; job 99 resumes from there\n"));
    status.end->again = false;  // drained
    EXPECT_THAT(text_of("99", "PENDING"), HasSubstr("code 75; job 99 resumes from there\n"));
    EXPECT_THAT(text_of(status.job, ""), HasSubstr("exit code 75\n"));
    status.end->code = 70;
    EXPECT_THAT(text_of("99", "PENDING"), HasSubstr("code 70; job 99 resumes from there\n"));
    status.chunks_committed = 0;  // all that was written is lost
    EXPECT_THAT(text_of("99", "PENDING"),
                HasSubstr("code 70; job 99 starts from the beginning: nothing is committed yet\n"));
    status.chunks_committed.reset();  // it ended before it knew
    EXPECT_THAT(text_of("99", "PENDING"), HasSubstr("code 70; job 99 resumes from what is committed\n"));
}

TEST(RunView, IsOverWhenNoAttemptFollows) {
    RunStatus status = some_status();
    status.end = RunEnd{.code = 75, .again = true, .signal = 10, .text = {}};
    RunView view{.status = status, .job = "4711"};

    EXPECT_FALSE(is_done(view));
    view.status->attempt = 4;
    EXPECT_TRUE(is_done(view));
}

TEST(StatusText, KnowsAJobThatHasNotBegun) {
    const RunView view{.job = "7",
                       .log = "/data/l.csv.sluice/logs/7.log",
                       .queued = QueuedJob{.state = "PENDING", .reason = "Priority"},
                       .asked = true};

    EXPECT_EQ(status_text(view),
              "state     no attempt has started\nSlurm     job 7 PENDING (Priority)\n"
              "log       /data/l.csv.sluice/logs/7.log\n");
    EXPECT_THAT(status_json(view), HasSubstr("\"log\": \"/data/l.csv.sluice/logs/7.log\""));
    EXPECT_THAT(status_json(view), HasSubstr("\"state\": \"PENDING\""));
}

TEST(StatusText, NamesTheJobsThatOneFollows) {
    const RunView view{.status = some_status(), .job = "7", .earlier = {"5", "6"}};

    EXPECT_THAT(status_text(view), HasSubstr("Slurm     job 7; not asked\n          which continues after 5, 6\n"));
    EXPECT_THAT(status_json(view), HasSubstr("\"earlier_jobs\": [\n    \"5\",\n    \"6\"\n  ]"));
}

}  // namespace
}  // namespace sluice
