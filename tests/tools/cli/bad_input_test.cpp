#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/support/process.hpp"
#include "tests/tools/cli/bad_input.hpp"

namespace sluice::test {
namespace {

constexpr std::size_t longest_line = 400 + 3;  // and the sign that it was cut

const std::string sluice_program = SLUICE_PROGRAM;

void write(const std::filesystem::path& folder, const TestFile& file) {
    const auto path = folder / file.name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << file.content;
    if (file.bytes > file.content.size()) {
        std::filesystem::resize_file(path, file.bytes);
    }
}

std::set<std::string> everything_in(const std::filesystem::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        names.insert(entry.path().native());
    }
    return names;
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

std::string behind_colon(const std::string& text) {
    const std::size_t colon = text.find(": ");
    return colon == std::string::npos ? std::string() : text.substr(colon + 2);
}

/// One error line of the fixed form, with these parts, perhaps a hint, nothing else. Before the place may come a
/// `stage`.
void expect_message(const ProcessResult& result, const BadInput& bad, const std::string& stage = {}) {
    const std::string line = result.err.substr(0, result.err.find('\n'));
    const std::string start = "sluice: error[" + bad.id;

    EXPECT_EQ(result.exit_code, bad.exit_code) << result.err;
    EXPECT_EQ(count(result.err, "sluice: error["), 1U) << result.err;
    EXPECT_TRUE(line.starts_with(start)) << line;
    std::string place = behind_colon(line.substr(std::min(start.size(), line.size())));
    if (!stage.empty()) {
        EXPECT_TRUE(place.starts_with(stage)) << line;
        place = behind_colon(place);
    }
    EXPECT_TRUE(place.starts_with(bad.where)) << line;
    EXPECT_NE(line.find(bad.what), std::string::npos) << line;
    EXPECT_LE(line.size(), longest_line);
    EXPECT_LE(count(result.err, "\n"), 2U) << result.err;
    EXPECT_TRUE(std::none_of(result.err.begin(), result.err.end(), [](char c) {
        return c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F);
    })) << "a control character reached the terminal";
}

class BadInputTest : public testing::TestWithParam<BadInput> {
protected:
    void SetUp() override {
        write(folder_.path(), {"articles.txt", "The first article.\nThe second.\nThe third.\n"});
        write(folder_.path(), {"job.toml", GetParam().job});
        for (const TestFile& file : GetParam().files) {
            write(folder_.path(), file);
        }
        before_ = everything_in(folder_.path());
    }

    ProcessResult sluice(const char* command) const {
        std::vector<std::string> arguments{command, "job.toml"};
        arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
        arguments.insert(arguments.begin(), sluice_program);
        return Process(arguments, {.folder = folder_.path()}).wait();
    }

    TemporaryFolder folder_;
    std::set<std::string> before_;
};

TEST_P(BadInputTest, RunSaysWhereAndWhatAndLeavesNoFile) {
    const ProcessResult result = sluice("run");

    expect_message(result, GetParam(), GetParam().while_reading ? "read of chunk " : "");
    EXPECT_EQ(everything_in(folder_.path()), before_);
}

TEST_P(BadInputTest, CheckSaysTheSame) {
    const ProcessResult result = sluice("check");

    expect_message(result, GetParam());
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(everything_in(folder_.path()), before_);
}

const auto name_of_row = [](const auto& entry) { return entry.param.name; };
INSTANTIATE_TEST_SUITE_P(Job, BadInputTest, testing::ValuesIn(bad_jobs()), name_of_row);
INSTANTIATE_TEST_SUITE_P(Text, BadInputTest, testing::ValuesIn(bad_texts()), name_of_row);
INSTANTIATE_TEST_SUITE_P(Array, BadInputTest, testing::ValuesIn(bad_arrays()), name_of_row);
INSTANTIATE_TEST_SUITE_P(Weights, BadInputTest, testing::ValuesIn(bad_weights()), name_of_row);
INSTANTIATE_TEST_SUITE_P(Output, BadInputTest, testing::ValuesIn(bad_outputs()), name_of_row);

}  // namespace
}  // namespace sluice::test
