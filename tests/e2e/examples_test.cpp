// The jobs of examples/, each run as its first line says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/files.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;

/// A folder with the same files, so that what a run writes beside them does not stay.
class Examples : public testing::Test {
protected:
    Examples() {
        for (const auto& entry : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/examples")) {
            const std::string name = entry.path().filename().native();
            if (entry.path().extension() == ".toml") {
                std::filesystem::copy_file(entry.path(), folder_.path() / name);
                jobs_.insert(name);
            } else if (!name.starts_with("labels-")) {
                std::filesystem::create_symlink(entry.path(), folder_.path() / name);
            }
        }
    }

    [[nodiscard]] ProcessResult run(const std::string& command, const std::string& job,
                                    const std::vector<std::string>& more) const {
        std::vector<std::string> words{SLUICE_PROGRAM, command, job};
        words.insert(words.end(), more.begin(), more.end());
        return Process(words, {.folder = folder_.path()}).wait();
    }

    /// The paths of the job's output and report, from `check`.
    [[nodiscard]] json output_of(const std::string& job, const std::vector<std::string>& changes) const {
        std::vector<std::string> more{"--json", "--set", "run.device=host"};
        more.insert(more.end(), changes.begin(), changes.end());
        const ProcessResult checked = run("check", job, more);
        EXPECT_EQ(checked.exit_code, 0) << job << checked.err;
        return json::parse(checked.out).at("output");
    }

    [[nodiscard]] std::string labels_of(const std::string& format) const {
        return contents(folder_.path() / ("labels-" + format + ".csv"));
    }

    TemporaryFolder folder_;
    std::set<std::string> jobs_;
};

TEST_F(Examples, RunAndGiveTheSameLabelsInEveryFormat) {
    for (const std::string& job : jobs_) {
        const ProcessResult result = run("run", job, {"--set", "run.device=host", "--set", "run.devices=1"});
        EXPECT_EQ(result.exit_code, 0) << job << result.err;
    }

    const std::string labels = labels_of("csv");
    EXPECT_THAT(labels, testing::StartsWith("item,label,name\n0,"));
    for (const std::string format : {"jsonl", "npy", "slurm", "txt", "u8"}) {
        EXPECT_EQ(labels_of(format), labels) << format;
    }
    EXPECT_THAT(labels, testing::StartsWith(labels_of("bin")));
    EXPECT_THAT(labels_of("bin"), testing::HasSubstr("\n1,"));
}

TEST_F(Examples, HaveAReportForEachOutput) {
    std::set<std::string> reports;
    for (const std::string& job : jobs_) {
        const json own = output_of(job, {});
        const std::string path = own.at("path");
        const json other = output_of(job, {"--set", "output.path=other-" + path});

        reports.insert({own.at("report").get<std::string>(), other.at("report").get<std::string>()});
    }

    EXPECT_EQ(reports.size(), 2 * jobs_.size());
}

}  // namespace
}  // namespace sluice::test
