#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/files.hpp"
#include "tests/support/process.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

/// The example that calls run() in place of main().
class Embedded : public testing::Test {
protected:
    [[nodiscard]] ProcessResult run(std::vector<std::string> arguments,
                                    const std::vector<std::string>& launcher = {}) const {
        arguments.insert(arguments.begin(), SLUICE_EMBEDDED_PROGRAM);
        arguments.insert(arguments.begin(), launcher.begin(), launcher.end());
        return Process(arguments, {.folder = folder_.path()}).wait();
    }

    [[nodiscard]] std::string path_of(const std::string& name) const { return folder_.path() / name; }

    static std::string job() { return std::filesystem::path(SLUICE_SOURCE_DIR) / "examples" / "txt.toml"; }

private:
    TemporaryFolder folder_;
};

TEST_F(Embedded, RunsAJobAloneAndAsRanks) {
    const ProcessResult alone = run({job(), path_of("alone.csv")});
    const ProcessResult ranks = run({job(), path_of("ranks.csv")}, {SLUICE_MPIEXEC, "--oversubscribe", "-n", "2"});

    EXPECT_EQ(alone.exit_code, 0) << alone.err;
    EXPECT_EQ(alone.out, "");
    EXPECT_EQ(ranks.exit_code, 0) << ranks.err;
    EXPECT_THAT(contents(path_of("alone.csv")), HasSubstr("\n19,"));
    EXPECT_EQ(contents(path_of("alone.csv")), contents(path_of("ranks.csv")));
}

TEST_F(Embedded, GetsWhatIsWrongAsAnError) {
    const ProcessResult alone = run({path_of("none.toml"), path_of("labels.csv")});
    const ProcessResult ranks =
        run({path_of("none.toml"), path_of("labels.csv")}, {SLUICE_MPIEXEC, "--oversubscribe", "-n", "2"});

    for (const ProcessResult& missing : {alone, ranks}) {
        EXPECT_EQ(missing.exit_code, 66);
        EXPECT_THAT(missing.err, HasSubstr("error[E-CFG-001]"));
    }
    EXPECT_FALSE(std::filesystem::exists(path_of("labels.csv")));
    EXPECT_EQ(run({}).exit_code, 64);
}

}  // namespace
}  // namespace sluice::test
