#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/files.hpp"
#include "tests/support/process.hpp"

namespace sluice::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::size_t inputs = 8;
constexpr std::size_t classes = 3;

std::string text_of(const std::string& path) {
    return contents(std::filesystem::path(SLUICE_SOURCE_DIR) / path);
}

/// The weights of `model.random`, as the example draws them: (classes, inputs), then (classes).
std::array<float, classes * inputs + classes> random_weights(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::array<float, classes * inputs + classes> weights{};
    std::ranges::generate(weights, [&] { return static_cast<float>(random() % 2000) / 1000.0F - 1.0F; });
    return weights;
}

std::string plain_label(const std::string& text, std::uint64_t seed) {
    const auto weights = random_weights(seed);
    std::array<double, classes> scores{};
    for (std::size_t c = 0; c < classes; ++c) {
        scores[c] = weights[classes * inputs + c];
        for (std::size_t i = 0; i < std::min(text.size(), inputs); ++i) {
            scores[c] += weights[c * inputs + i] * static_cast<float>(text[i] & 15);
        }
    }
    return std::to_string(std::distance(scores.begin(), std::ranges::max_element(scores)));
}

TEST(MinimalApp, IsWhatContributingQuotesInAtMost90Lines) {
    const std::string page = text_of("CONTRIBUTING.md");
    const std::string source = text_of("examples/apps/minimal/minimal.cpp");
    const std::string build = text_of("examples/apps/minimal/CMakeLists.txt");

    EXPECT_NE(page.find("```cpp\n" + source + "```"), std::string::npos);
    EXPECT_NE(page.find("```cmake\n" + build + "```"), std::string::npos);
    EXPECT_LE(std::ranges::count(source + build, '\n'), 90);
}

TEST(MinimalApp, GivesTheLabelsOfAPlainLoop) {
    const TemporaryFolder folder;
    std::string items;
    std::string expected = "item,label\n";
    std::set<std::string> labels;
    for (int i = 0; i < 23; ++i) {
        const std::string text = std::to_string(i * 7'654'321);
        items += text + "\n";
        expected += std::to_string(i) + "," + plain_label(text, 17) + "\n";
        labels.insert(plain_label(text, 17));
    }
    write_file(folder.path() / "items.txt", items);
    write_file(folder.path() / "job.toml",
               "app = \"minimal\"\ninput.path = \"items.txt\"\nmodel.random = 17\noutput.path = \"labels.csv\"\n"
               "run.device = \"host\"\npipeline.chunk_items = 4\n");

    const ProcessResult result = Process({SLUICE_MINIMAL_PROGRAM, "run", "job.toml"}, {.folder = folder.path()}).wait();

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(contents(folder.path() / "labels.csv"), expected);
    EXPECT_GT(labels.size(), 1U) << "the labels vary";
}

/// The program under another name.
class MyApp : public testing::Test {
protected:
    void SetUp() override { std::filesystem::create_symlink(SLUICE_MINIMAL_PROGRAM, folder_.path() / "my-app"); }

    [[nodiscard]] ProcessResult run(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), (folder_.path() / "my-app").native());
        return Process(arguments, {.folder = folder_.path()}).wait();
    }

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

private:
    TemporaryFolder folder_;
};

TEST_F(MyApp, NamesItselfAsItWasCalledInItsHelp) {
    const std::string general = run({"--help"}).out;
    EXPECT_THAT(general, HasSubstr("Usage: my-app COMMAND"));
    EXPECT_THAT(general, HasSubstr("  my-app check job.toml && mpirun -n 4 my-app run job.toml\n"));

    for (const char* command :
         {"run", "resume", "verify", "check", "apps", "topo", "doctor", "script", "submit", "status", "drain", "cancel",
          "ladder", "exec", "follow", "stop-reason", "help", "completion", "version"}) {
        const std::string help = run({command, "--help"}).out;

        EXPECT_THAT(help, StartsWith(std::string("Usage: my-app ") + command));
        EXPECT_THAT(help, Not(HasSubstr("{program}")));
        EXPECT_THAT(help, Not(ContainsRegex("sluice [a-z]+ (JOB|RUN|--|[a-z]+\\.)|`sluice ")));
    }
    EXPECT_THAT(run({"completion", "bash"}).out, HasSubstr(" my-app\n"));
}

TEST_F(MyApp, HasNoKeysOfItsOwn) {
    const ProcessResult result = run({"help", "keys", "minimal"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "app 'minimal' has no keys of its own; `my-app help keys` lists those of every job\n");
}

TEST_F(MyApp, NamesItselfInHintsAndLeavesMessagesTheirPrefix) {
    write_file(folder() / "job.toml", "app = \"classifier\"\n");

    EXPECT_EQ(run({}).err, "sluice: error[E-USE-098]: my-app: got no command\n  hint: my-app --help\n");
    EXPECT_EQ(run({"run"}).err, "sluice: error[E-USE-098]: my-app run: got no job file\n  hint: my-app run --help\n");
    EXPECT_EQ(run({"job.toml"}).err,
              "sluice: error[E-USE-098]: my-app: unknown command 'job.toml'\n  hint: my-app run job.toml\n");
    EXPECT_EQ(
        run({"check", "job.toml"}).err,
        "sluice: error[E-CFG-011]: job.toml:1:7: app: unknown app 'classifier'\n  hint: `my-app apps` lists them\n");
}

}  // namespace
}  // namespace sluice::test
