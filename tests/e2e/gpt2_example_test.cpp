// The job of examples/gpt2.toml.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

/// The trained model of examples/, whose continuations depend on all that came before.
class Gpt2Example : public testing::Test {
protected:
    Gpt2Example() {
        const std::string examples = std::string(SLUICE_SOURCE_DIR) + "/examples/";
        std::string job = contents(examples + "gpt2.toml");
        for (const std::string file : {"prompts.txt", "models/gpt2/model.safetensors"}) {
            job.replace(job.find(file), file.size(), examples + file);
        }
        write_file(path() / "job.toml", job + "[run]\ndevice = \"host\"\n");
    }

    /// Its output, six continuations of each prompt.
    [[nodiscard]] std::string output_of(int ranks, const std::string& chunk) const {
        const ProcessResult done = run(ranks, chunk);
        EXPECT_EQ(done.exit_code, 0) << done.err;
        std::string output = contents(path() / "labels-gpt2.jsonl");
        std::filesystem::remove(path() / "labels-gpt2.jsonl");
        std::filesystem::remove_all(path() / "labels-gpt2.jsonl.sluice");
        return output;
    }

    [[nodiscard]] ProcessResult run(int ranks, const std::string& chunk) const {
        std::vector<std::string> words{"run", "job.toml", "--no-progress"};
        const std::vector<std::string> more = set({"input.count=6", "pipeline.chunk_items=" + chunk});
        words.insert(words.end(), more.begin(), more.end());
        return Process(launch_words(ranks, words, SLUICE_FAULTS_PROGRAM), {.folder = path()}).wait();
    }

    [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

private:
    TemporaryFolder folder_;
};

TEST_F(Gpt2Example, GivesTheSameBytesForAnyRanksChunksAndMpiKills) {
    const std::string alone = output_of(0, "auto");
    EXPECT_EQ(std::ranges::count(alone, '\n'), 48);

    for (const auto& [ranks, chunk] :
         std::vector<std::pair<int, const char*>>{{0, "1"}, {2, "7"}, {3, "auto"}, {5, "3"}}) {
        EXPECT_EQ(output_of(ranks, chunk), alone) << ranks << ' ' << chunk;
    }
    ASSERT_EQ(::setenv("SLUICE_FAULT", "due:0:*=salt:1,jrn.synced:0:2=kill", 1), 0);
    EXPECT_NE(run(3, "7").exit_code, 0);
    ASSERT_EQ(::unsetenv("SLUICE_FAULT"), 0);
    EXPECT_EQ(output_of(2, "7"), alone);
}

TEST_F(Gpt2Example, ReplacesNoFileThatItFindsBesideItsWeights) {
    const std::filesystem::path models = std::string(SLUICE_SOURCE_DIR) + "/examples/models/gpt2";
    std::filesystem::copy(models, path() / "model");
    for (const auto& [key, file] :
         {std::pair("output.path", "vocab.json"), {"output.path", "config.json"}, {"output.report", "merges.txt"}}) {
        for (const char* command : {"run", "check", "submit"}) {
            std::vector<std::string> words{SLUICE_PROGRAM, command, "job.toml"};
            const auto settings = set({"model.weights=model/model.safetensors", "output.format=jsonl",
                                       key + ("=./model/" + std::string(file))});
            words.insert(words.end(), settings.begin(), settings.end());

            const ProcessResult result = Process(words, {.folder = path()}).wait();

            EXPECT_EQ(result.exit_code, 77) << result.err;
            EXPECT_THAT(result.err, testing::ContainsRegex("E-SEC-019.: " + std::string(key) + ": '.*" + file +
                                                           "' is also model[.][a-z]+, which it would replace"));
            EXPECT_EQ(contents(path() / "model" / file), contents(models / file));
        }
    }
    EXPECT_FALSE(std::filesystem::exists(path() / "model/vocab.json.sluice"));
}

}  // namespace
}  // namespace sluice::test
