// What identity_test.cpp promises of any app, of a model whose results are sums of many products.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/commit/run_identity.hpp"
#include "tests/e2e/job_folder.hpp"
#include "tests/slurm/fake_programs.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

constexpr std::size_t items = 97;

TEST(Classifier, GivesTheSameScoresForEveryChunkSizeAndLabelsThatVary) {
    const JobFolder job(items);

    const std::string bytes = job.output_of(0, set({"pipeline.chunk_items=1"}));

    const std::vector<std::string> labels = labels_in(bytes, items);
    EXPECT_GE(std::set<std::string>(labels.begin(), labels.end()).size(), 2U);
    for (const std::string chunk_items : {"7", "32", "100"}) {
        EXPECT_EQ(job.output_of(0, set({"pipeline.chunk_items=" + chunk_items})), bytes) << chunk_items;
    }
    EXPECT_EQ(job.output_of(0, {}), bytes);
}

TEST(ClassifierOfRanks, GivesTheSameBytesAsOneProcess) {
    const JobFolder job(items);

    const std::string bytes = job.output_of(0, set({"pipeline.chunk_items=7"}));

    EXPECT_EQ(labels_in(bytes, items).size(), items);
    EXPECT_EQ(job.output_of(3, set({"pipeline.chunk_items=7", "run.devices=2", "pipeline.depth=5"})), bytes);
}

/// As if the run of labels.csv had been made on GPUs.
void pretend_gpus(const JobFolder& job) {
    const RunPaths paths = run_paths(job.path() / "labels.csv", ".csv");
    RunIdentity identity = read_run_identity(paths).value();
    for (auto& [name, value] : identity.settings) {
        if (name == "run.device") {
            value = "cuda";
        } else if (name == "run.instructions") {
            name = "run.gpu";
            value = "a GPU that no machine has";
        }
    }
    write_file(paths.identity(), encode(identity));
}

TEST(Classifier, ThatHasRunOnGpusIsSubmittedFromAMachineWithOthersAsTheSameJob) {
    const JobFolder job(items);
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    ASSERT_EQ(job.run_alone({}).exit_code, 0);
    pretend_gpus(job);
    const auto submit = [&](const std::string& change) {
        return Process({SLUICE_PROGRAM, "submit", "job.toml", "--set", "run.device=auto", "--set", change},
                       {.folder = job.path()})
            .wait();
    };

    const ProcessResult same = submit("model.random=17");
    const ProcessResult other = submit("model.random=18");

    EXPECT_THAT(same.out, testing::HasSubstr("already complete: 97 items")) << same.err;
    EXPECT_EQ(other.exit_code, 73) << other.err;
    EXPECT_THAT(other.err, testing::HasSubstr("differences: model.random (was '17', is '18')\n"));
}

}  // namespace
}  // namespace sluice::test
