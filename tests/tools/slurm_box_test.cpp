// What tools/slurm-box does without a cluster. tests/slurm has those with one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::test {
namespace {

TEST(SlurmBox, KillsNoProcessThatHasTheNumberOfANodesDaemon) {
    const TemporaryFolder box;
    std::ofstream(box.path() / "is-a-slurm-box").flush();
    std::filesystem::create_directory(box.path() / "n0");
    Process other({"/bin/sleep", "1000"}, {.folder = box.path()});
    std::ofstream(box.path() / "n0" / "slurmd.pid") << other.pid() << '\n';

    const ProcessResult result =
        Process({SLUICE_SOURCE_DIR "/tools/slurm-box", "kill-node", "n0", box.path()}, {.folder = box.path()}).wait();
    other.send(SIGTERM);

    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, testing::StartsWith("error: the slurmd of n0 does not run\n"));
    EXPECT_EQ(other.wait().exit_code, 128 + SIGTERM) << "it was not killed before";
}

}  // namespace
}  // namespace sluice::test
