#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::test {
namespace {

ProcessResult run_program(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), SLUICE_PROGRAM);
    return Process(arguments, {.folder = "/"}).wait();
}

/// A bash that has read the printed script.
class Completion : public testing::Test {
protected:
    void SetUp() override {
        const ProcessResult printed = run_program({"completion", "bash"});
        ASSERT_EQ(printed.exit_code, 0) << printed.err;
        std::ofstream(script_) << printed.out;
    }

    /// What it offers behind `typed`, each after a blank; "(default)": file names, "(nospace)": no blank behind a word.
    [[nodiscard]] std::string offered(const std::string& typed, const std::string& breaks = "\"'><=;|&(: ") const {
        const std::string commands =
            "source \"$1\"\n"
            "compopt() { said+=\" ($2)\"; }\n"
            "COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDBREAKS=$3\n"
            "read -r _ _ function _ <<<\"$(complete -p \"${2%% *}\")\"  # complete -F FUNCTION PROGRAM\n"
            "\"$function\"\n"
            "printf ' %s' \"${COMPREPLY[@]}\"\n"
            "printf '%s' \"$said\"\n";
        const ProcessResult result =
            Process({"/bin/bash", "-c", commands, "bash", script_, typed, breaks}, {.folder = "/"}).wait();
        EXPECT_EQ(result.err, "");
        return result.out;
    }

    [[nodiscard]] const std::string& script() const { return script_; }

private:
    TemporaryFolder folder_;
    std::string script_ = (folder_.path() / "completion").native();
};

TEST_F(Completion, OffersWhatCanFollow) {
    const struct {
        const char* typed;
        const char* offered;
    } rows[] = {
        {"sluice st", " status"},
        {"sluice --v", " --version"},
        {"sluice  run", " run"},
        {"sluice run --q", " --quiet"},
        {"sluice run 'a job.toml' --ta", " --table"},
        {"sluice run ", "  (default)"},
        {"sluice run --time-left ", "  (default)"},
        {"sluice check --q", " "},
        {"sluice run j.toml --set pipeline.m", " pipeline.mode= (nospace)"},
        {"sluice run j.toml --set pipeline.mode=", " overlap serial"},
        {"sluice run j.toml --set pipeline.mode=s", " serial"},
        {"sluice run --set=run.devi", " run.device= run.devices= (nospace)"},
        {"sluice run --set=run.devices=a", " auto"},
        {"sluice run --set input.header=", " true false"},
        {"sluice run --set app=n", " namegen"},
        {"sluice run --set input.path=", "  (default)"},
        {"sluice run --set none=", "  (default)"},
        {"sluice submit j.toml -- --q", " "},
        {"sluice help ch", " check"},
        {"sluice help ke", " keys"},
        {"sluice help keys pipeline.de", " pipeline.depth"},
        {"sluice completion ", " bash"},
        {"sluice none --", " --help"},
        {"sluice none", " "},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(offered(row.typed), row.offered) << row.typed;
    }
}

TEST_F(Completion, ReplacesTheWholeWordWhereBashDoesNotSplitIt) {
    EXPECT_EQ(offered("sluice run --set=pipeline.mode=s", " "), " --set=pipeline.mode=serial");
    EXPECT_EQ(offered("sluice run --set pipeline.mode=s", " "), " pipeline.mode=serial");
}

/// Of `text`, the words with which lines of a help begin.
std::vector<std::string> first_words(const std::string& text, const std::string& indent) {
    std::vector<std::string> words;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(indent) && line.size() > indent.size() && line[indent.size()] != ' ') {
            words.push_back(line.substr(indent.size(), line.find_first_of(" \n", indent.size()) - indent.size()));
        }
    }
    return words;
}

TEST_F(Completion, KnowsAllCommandsAndKeysOfTheHelp) {
    const std::string general = run_program({"--help"}).out;
    const std::string commands = offered("sluice ") + " ";
    const std::size_t begin = general.find("Commands:");
    const auto listed = first_words(general.substr(begin, general.find("Options:") - begin), "  ");
    EXPECT_GT(listed.size(), 10U);
    for (const std::string& command : listed) {
        EXPECT_NE(commands.find(" " + command + " "), std::string::npos) << command;
    }

    const std::string keys = offered("sluice run --set ");
    const auto documented = first_words(run_program({"help", "keys"}).out, "  ");
    EXPECT_GT(documented.size(), 50U);
    for (const std::string& key : documented) {
        EXPECT_TRUE(keys.find("." + key + "=") != std::string::npos || keys.find(" " + key + "=") != std::string::npos)
            << key;
    }
}

TEST_F(Completion, CompletesAnotherProgramBesideThisOne) {
    const std::string other = run_program({"completion", "bash", "my-app_2.0"}).out;
    std::ofstream(script(), std::ios::app) << other << "_my_app_2_0_commands=(hello)\n";

    EXPECT_NE(other.find("\ncomplete -F _my_app_2_0 my-app_2.0\n"), std::string::npos);
    EXPECT_EQ(other.find("_sluice"), std::string::npos);
    EXPECT_EQ(offered("my-app_2.0 he"), " hello");
    EXPECT_EQ(offered("sluice he"), " help");
}

TEST(CompletionCommand, RefusesShellsAndProgramsThatItDoesNotKnow) {
    const struct {
        std::vector<std::string> arguments;
        const char* message;
    } rows[] = {
        {{"completion"}, "sluice completion: got no shell, expected bash"},
        {{"completion", "fish"}, "sluice completion: got 'fish', expected bash"},
        {{"completion", "bash", "$(id)"}, "got the program '$(id)', expected its name, of A-Z a-z 0-9 . _ -"},
        {{"completion", "bash", ""}, "got the program '', expected its name"},
        {{"completion", "bash", "a", "b"}, "unexpected argument 'b'"},
    };
    for (const auto& row : rows) {
        const ProcessResult result = run_program(row.arguments);

        EXPECT_EQ(result.exit_code, 64) << row.message;
        EXPECT_NE(result.err.find(row.message), std::string::npos) << result.err;
        EXPECT_EQ(result.out, "");
    }
}

}  // namespace
}  // namespace sluice::test
