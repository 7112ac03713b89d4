#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

constexpr uid_t somebody = 4242;

/// What stands at every path below a folder: kind, mode, owner, and a file's bytes.
std::map<std::string, std::string> everything_in(const fs::path& folder) {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        struct ::stat status = {};
        EXPECT_EQ(::lstat(entry.path().c_str(), &status), 0);
        const bool is_file = S_ISREG(status.st_mode);
        all[entry.path().native()] = std::to_string(status.st_mode) + " " + std::to_string(status.st_uid) + " " +
                                     (is_file ? contents(entry.path()) : std::string());
    }
    return all;
}

/// Of which the others are copies: to copy takes less time than to run.
const JobFolder& unfinished_job() {
    static const JobFolder job(2);
    static const bool is_made = [] {
        EXPECT_EQ(job.run_alone({}).exit_code, 0);
        const fs::path run = job.path() / "labels.csv.sluice";
        fs::remove(job.path() / "labels.csv");
        fs::remove(run / "MANIFEST.json");
        write_file(run / "plan.toml", contents(run / "run.toml"));
        write_file(run / "submitted.json", R"({"job": "123", "cluster": ""})");
        write_file(run / "retry", "");
        return true;
    }();
    EXPECT_TRUE(is_made);
    return job;
}

/// A run that is begun and not complete, with every control file that there is, and beside its folder a file that
/// nobody may touch.
class HostileRun {
public:
    HostileRun() {
        fs::copy(unfinished_job().path(), job_, fs::copy_options::recursive);
        fs::last_write_time(job_ / "articles.txt", fs::last_write_time(unfinished_job().path() / "articles.txt"));
        fs::create_directory(precious_.parent_path());
        write_file(precious_, "precious");
        fs::permissions(precious_, fs::perms::owner_read | fs::perms::owner_write);
    }

    [[nodiscard]] const fs::path& run() const { return run_; }
    [[nodiscard]] const fs::path& precious() const { return precious_; }

    void give_away(const fs::path& path) const { ASSERT_EQ(::lchown(path.c_str(), somebody, somebody), 0); }
    void give_all_away() const {
        give_away(run_);
        for (const auto& entry : fs::recursive_directory_iterator(run_)) {
            give_away(entry.path());
        }
    }

    [[nodiscard]] ProcessResult sluice(std::vector<std::string> words) const {
        words.insert(words.begin(), SLUICE_PROGRAM);
        return Process(words, {.folder = job_}).wait();
    }

    void expect_precious() const {
        EXPECT_EQ(contents(precious_), "precious");
        EXPECT_EQ(names_in(precious_.parent_path()), std::vector<std::string>{precious_.filename()});
    }

private:
    TemporaryFolder folder_;
    fs::path job_ = folder_.path() / "job";
    fs::path run_ = job_ / "labels.csv.sluice";
    fs::path precious_ = job_ / "elsewhere/precious";
};

enum class Attack { pipe, link, forged };

void put(Attack attack, const fs::path& file, const HostileRun& hostile) {
    fs::remove_all(file);
    fs::create_directories(file.parent_path());
    switch (attack) {
        case Attack::pipe:
            ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
            break;
        case Attack::link:
            fs::create_symlink(hostile.precious(), file);
            break;
        case Attack::forged:
            write_file(file, "[output]\npath = \"" + hostile.precious().native() + "\"\n");
            hostile.give_away(file);
            break;
    }
}

const std::vector<std::string> control_files{
    "job.json",        "run.toml", "status.json", "status.json.new", "submitted.json",        "plan.toml",
    "MANIFEST.json",   "drain",    "retry",       "attempts",        "attempts/1/owner.json", "attempts/1/w0.jrn",
    "attempts/1/alive"};

class HostileControlFile : public testing::TestWithParam<Attack> {
protected:
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "only root can give a file away";
        }
    }
};

/// The exit code is one that the manual names, and comes at once: the process is waited for.
TEST_P(HostileControlFile, InMyRunNeitherLeadsAwayNorHangs) {
    for (const std::string& file : control_files) {
        for (const char* command : {"status", "verify", "drain", "cancel", "resume"}) {
            const HostileRun hostile;
            put(GetParam(), hostile.run() / file, hostile);

            const ProcessResult result = hostile.sluice({command, "labels.csv"});

            EXPECT_THAT(result.exit_code, AnyOf(0, 66, 69, 73, 74, 77, 84)) << command << ", " << file << result.err;
            hostile.expect_precious();
        }
    }
}

TEST_P(HostileControlFile, OfAnotherUsersRunIsReadAtMost) {
    for (const std::string& file : control_files) {
        const HostileRun hostile;
        put(GetParam(), hostile.run() / file, hostile);
        hostile.give_all_away();
        const auto before = everything_in(hostile.run().parent_path());

        for (const char* command : {"status", "verify"}) {
            const ProcessResult result = hostile.sluice({command, "labels.csv"});
            EXPECT_THAT(result.exit_code, AnyOf(0, 66, 69, 74, 77, 84)) << command << ", " << file << result.err;
        }
        const std::string plan = hostile.run() / "plan.toml";
        for (const std::vector<std::string>& words : {std::vector<std::string>{"drain", "labels.csv"},
                                                      {"cancel", "labels.csv"},
                                                      {"resume", "labels.csv"},
                                                      {"run", "job.toml"},
                                                      {"check", "job.toml"},
                                                      {"exec", "--plan", plan},
                                                      {"stop-reason", "--plan", plan, "--srun-rc", "0"}}) {
            const ProcessResult result = hostile.sluice(words);
            EXPECT_EQ(result.exit_code, 77) << words[0] << ", " << file << result.err;
            EXPECT_THAT(result.err, HasSubstr("E-SEC-020"));
        }
        EXPECT_EQ(everything_in(hostile.run().parent_path()), before) << file;
    }
}

INSTANTIATE_TEST_SUITE_P(Hostile, HostileControlFile, testing::Values(Attack::pipe, Attack::link, Attack::forged),
                         [](const auto& test) {
                             return test.param == Attack::pipe   ? "Pipe"
                                    : test.param == Attack::link ? "Link"
                                                                 : "Forged";
                         });

TEST(HostileRunFolder, OfAnotherUserIsReadAndNamed) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can give a folder away";
    }
    const JobFolder job(6);
    EXPECT_EQ(job.run_alone({}).exit_code, 0);
    for (const auto& entry : fs::recursive_directory_iterator(job.path())) {
        ASSERT_EQ(::lchown(entry.path().c_str(), somebody, somebody), 0);
    }
    const auto command = [&](std::vector<std::string> words) {
        words.insert(words.begin(), SLUICE_PROGRAM);
        return Process(words, {.folder = job.path()}).wait();
    };

    EXPECT_THAT(command({"verify", "labels.csv"}).out, HasSubstr("; a run of user 4242"));
    EXPECT_THAT(command({"status", "labels.csv"}).out, HasSubstr("owner     user 4242\n"));
    EXPECT_EQ(nlohmann::json::parse(command({"status", "labels.csv", "--json"}).out).at("owner"), "user 4242");
    EXPECT_EQ(nlohmann::json::parse(command({"verify", "labels.csv", "--json"}).out).at("owner"), "user 4242");
}

/// `cancel` believes nobody else's word for who works on a run.
TEST(HostileRunFolder, CannotHaveAnotherRunCancelled) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can give a folder away";
    }
    const JobFolder victim(held_texts(40, 0));
    const auto running = victim.start_alone(set({"pipeline.chunk_items=8"}));
    EXPECT_TRUE(eventually([&] { return fs::exists(victim.path() / "labels.csv.sluice/status.json"); }));
    const HostileRun hostile;
    fs::remove(hostile.run() / "submitted.json");
    write_file(hostile.run() / "status.json", contents(victim.path() / "labels.csv.sluice/status.json"));
    hostile.give_all_away();

    EXPECT_EQ(hostile.sluice({"cancel", "labels.csv"}).exit_code, 77);

    EXPECT_FALSE(is_pending(running->pid(), SIGTERM));
    EXPECT_EQ(::kill(running->pid(), 0), 0);
    running->send(SIGKILL);
    EXPECT_EQ(running->wait().exit_code, 128 + SIGKILL);
}

}  // namespace
}  // namespace sluice::test
