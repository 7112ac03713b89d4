#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

/// A report's path, and the part of the message that says why it is refused.
struct BadReport {
    const char* path;
    const char* reason;
};

std::map<std::string, std::string> files_in(const std::filesystem::path& folder) {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        all[entry.path().native()] = entry.is_regular_file() ? contents(entry.path()) : std::string();
    }
    return all;
}

/// Besides the job: complete.csv and complete/, outputs of other jobs, a link to the latter, and a second name of the
/// former.
class ReportTarget : public testing::Test {
protected:
    void SetUp() override {
        std::filesystem::create_directories(job_.path() / "complete/.sluice");
        std::filesystem::create_directory(job_.path() / "complete.csv.sluice");
        write_file(job_.path() / "complete.csv", "item,label\n");
        write_file(job_.path() / "complete/part-00000.csv", "item,label\n");
        for (const char* file : {"complete/.sluice/job.json", "complete.csv.sluice/job.json"}) {
            write_file(job_.path() / file, "{\n  \"format\": \"sluice run\"\n}\n");
        }
        write_file(job_.path() / "complete/MANIFEST.json", "{\n  \"format\": \"sluice manifest\"\n}\n");
        write_file(job_.path() / "notes.json", "{\"format\": \"notes\"}\n");
        std::filesystem::create_directory_symlink("complete", job_.path() / "link");
        std::filesystem::create_hard_link(job_.path() / "complete.csv", job_.path() / "second.json");
        std::filesystem::create_directory(job_.path() / "begun.csv.sluice");
        std::filesystem::create_directory(job_.path() / "bare");
        std::filesystem::copy_file(job_.path() / "complete/MANIFEST.json", job_.path() / "bare/MANIFEST.json");
        std::filesystem::create_directory_symlink(".", job_.path() / "here");
    }

    [[nodiscard]] ProcessResult sluice(const std::string& command, const std::string& report) const {
        return Process(launch_words(0, {command, "job.toml", "--set", "output.report=" + report}),
                       {.folder = job_.path()})
            .wait();
    }

    JobFolder job_{3};
};

constexpr std::array bad_reports{BadReport{"complete/part-00000.csv", "folder of an output"},
                                 BadReport{"complete/MANIFEST.json", "folder of an output"},
                                 BadReport{"complete/new.json", "folder of an output"},
                                 BadReport{"complete/.sluice/job.json", "run's folder"},
                                 BadReport{"complete.csv.sluice/job.json", "run's folder"},
                                 BadReport{"complete.csv.sluice/new.json", "run's folder"},
                                 BadReport{"complete.csv", "name of a run's output"},
                                 BadReport{"begun.csv", "name of a run's output"},
                                 BadReport{"labels.csv.sluice", "run's folder"},
                                 BadReport{"link/part-00000.csv", "folder of an output"},
                                 BadReport{"link/new.json", "folder of an output"},
                                 BadReport{"bare/new.json", "folder of an output"},
                                 BadReport{"here/labels.csv", "also the output"},
                                 BadReport{"second.json", "not a sluice report"},
                                 BadReport{"notes.json", "not a sluice report"}};

TEST_F(ReportTarget, ThatWouldDoHarmIsRefusedBeforeAnythingIsDone) {
    const std::map<std::string, std::string> before = files_in(job_.path());
    std::vector<std::pair<const char*, BadReport>> cases{{"submit", bad_reports[0]}, {"run", bad_reports[0]}};
    for (const BadReport& report : bad_reports) {
        cases.emplace_back("check", report);
    }

    for (const auto& [command, report] : cases) {
        const ProcessResult result = sluice(command, report.path);

        EXPECT_EQ(result.exit_code, 77) << command << ' ' << report.path << ": " << result.err;
        EXPECT_THAT(result.err, HasSubstr("error[E-SEC-024]")) << report.path;
        EXPECT_THAT(result.err, HasSubstr(report.reason)) << report.path;
        EXPECT_EQ(files_in(job_.path()), before) << report.path;
    }
}

TEST_F(ReportTarget, MayBeAnEarlierReport) {
    ASSERT_EQ(sluice("run", "r.json").exit_code, 0);
    job_.remove_output();

    const ProcessResult result = sluice("check", "r.json");

    EXPECT_EQ(result.exit_code, 0) << result.err;
}

/// Whoever may write above a job's folder must not be able to end it.
TEST_F(ReportTarget, IsItsOwnFoldersMatterAlone) {
    for (const char* folder : {".sluice", "inner"}) {
        std::filesystem::create_directory(job_.path() / folder);
    }
    write_file(job_.path() / "MANIFEST.json", "{\n  \"format\": \"sluice manifest\"\n}\n");

    EXPECT_EQ(job_.run_alone({}).exit_code, 0) << "the default, beside the output";
    EXPECT_EQ(sluice("check", "inner/r.json").exit_code, 0);
}

TEST_F(ReportTarget, InTheJobsOwnFolderOfPartsIsRefused) {
    const ProcessResult result =
        job_.run_alone(set({"output.path=own/", "output.format=csv", "output.report=own/r.json"}));

    EXPECT_EQ(result.exit_code, 77) << result.err;
    EXPECT_FALSE(std::filesystem::exists(job_.path() / "own"));
}

}  // namespace
}  // namespace sluice::test
