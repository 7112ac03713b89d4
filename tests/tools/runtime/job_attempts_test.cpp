#include "tools/runtime/job_attempts.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/commit/attempt_history.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class JobAttempts : public testing::Test {
protected:
    void add_attempt(std::uint32_t number) const {
        std::filesystem::create_directories(paths_.attempt(number));
        test::write_file(paths_.attempt(number) / "owner.json", "");
    }

    void keep(std::uint32_t number, const std::vector<AttemptSummary>& attempts) const {
        keep_report(paths_, number, nlohmann::json{{"attempts", attempts}}.dump());
    }

    void SetUp() override { std::filesystem::create_directory(paths_.run_folder()); }

    TemporaryFolder folder_;
    RunPaths paths_ = run_paths(folder_.path() / "o.csv", {});
};

TEST_F(JobAttempts, AreNoneAtFirst) {
    EXPECT_THAT(earlier_attempts(paths_, 1), IsEmpty());
}

TEST_F(JobAttempts, AreThoseOfTheNewestReportThoughTheirFoldersAreGone) {
    const AttemptSummary first{.number = 1,
                               .start = "a",
                               .end = "b",
                               .seconds = Seconds(2),
                               .exit_code = 75,
                               .ended_by = "c",
                               .ranks = 3,
                               .devices = 4,
                               .items_done = 5};
    const AttemptSummary second{.number = 2, .exit_code = 0};
    keep(1, {first});
    keep(2, {first, second});

    EXPECT_THAT(earlier_attempts(paths_, 3), ElementsAre(first, second));
    EXPECT_THAT(earlier_attempts(paths_, 2), ElementsAre(first));
}

TEST_F(JobAttempts, AreToldByTheirFoldersWhereThereIsNoReport) {
    add_attempt(1);
    note_begin(paths_.attempt(1), 2, 8);
    note_end(paths_.attempt(1), ExitCode::gpu_fault, {.id = "E-GPU-080", .what = "it fell off"});
    add_attempt(2);

    const std::vector<AttemptSummary> attempts = earlier_attempts(paths_, 3);

    ASSERT_EQ(attempts.size(), 2U);
    EXPECT_EQ(attempts[0].ranks, 2U);
    EXPECT_EQ(attempts[0].devices, 8U);
    EXPECT_EQ(attempts[0].exit_code, 80);
    EXPECT_EQ(attempts[0].ended_by, "E-GPU-080: it fell off");
    EXPECT_EQ(attempts[1].devices, std::nullopt);
    EXPECT_EQ(attempts[1].exit_code, std::nullopt);
    EXPECT_FALSE(totals_of(attempts).devices_known);
}

TEST_F(JobAttempts, ThatReportedBeforeTheirEndAreCompletedByTheirFolders) {
    keep(1, {{.number = 1, .devices = 4, .items_done = 5}});
    add_attempt(1);
    note_end(paths_.attempt(1), ExitCode::stopped_early, {.id = "E-RUN-075", .what = "stopped"});

    const std::vector<AttemptSummary> attempts = earlier_attempts(paths_, 2);

    ASSERT_EQ(attempts.size(), 1U);
    EXPECT_EQ(attempts[0].exit_code, 75);
    EXPECT_EQ(attempts[0].ended_by, "E-RUN-075: stopped");
    EXPECT_EQ(attempts[0].items_done, 5U);
    EXPECT_EQ(attempts[0].devices, 4U);
}

TEST_F(JobAttempts, AreThoseOfTheirFoldersWhereTheReportIsDamaged) {
    add_attempt(1);
    keep_report(paths_, 1, "{\"attempts\": [{\"attempt\": \"x\"}]}");

    EXPECT_EQ(earlier_attempts(paths_, 2).size(), 1U);
}

TEST_F(JobAttempts, HaveTheirNewestReportByNumber) {
    std::filesystem::create_directory(paths_.run_folder() / "reports");
    for (const char* name : {"9999.json", "10000.json", "20000.json.new"}) {
        test::write_file(paths_.run_folder() / "reports" / name, "{}");
    }

    EXPECT_EQ(newest_report(paths_), paths_.run_folder() / "reports" / "10000.json");
}

TEST_F(JobAttempts, KeepTheNewestReportsOnly) {
    std::filesystem::create_directory(paths_.run_folder() / "reports");
    for (std::size_t i = 1; i <= most_kept_reports; ++i) {
        test::write_file(paths_.run_folder() / "reports" / fmt::format("{:04}.json", i), "{}");
    }

    keep_report(paths_, 12'345, "{}");

    const std::vector<std::string> names = test::names_in(paths_.run_folder() / "reports");
    EXPECT_EQ(names.size(), most_kept_reports);
    EXPECT_EQ(names.front(), "0002.json");
    EXPECT_EQ(names.back(), "12345.json");
}

}  // namespace
}  // namespace sluice
