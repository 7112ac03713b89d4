#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/files.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tools/cli/bad_input.hpp"

namespace sluice::test {
namespace {

ProcessResult sluice(std::vector<std::string> arguments, const std::filesystem::path& folder = "/",
                     Stdout out = Stdout::caught) {
    arguments.insert(arguments.begin(), SLUICE_PROGRAM);
    return Process(arguments, {.folder = folder, .out = out}).wait();
}

TEST(CommandLine, ExplainsItselfAndEverySubcommand) {
    const std::string general = sluice({"--help"}).out;
    for (const char* command : {"run", "resume", "verify", "diff", "scale", "check", "apps", "topo", "doctor", "script",
                                "submit", "status", "drain", "cancel", "ladder", "help", "completion", "version"}) {
        const ProcessResult result = sluice({command, "--help"});

        EXPECT_EQ(result.exit_code, 0) << command;
        for (const char* part : {"Usage: sluice ", "Options:", "Exit codes:", "Example:"}) {
            EXPECT_NE(result.out.find(part), std::string::npos) << command << " lacks " << part;
        }
        EXPECT_EQ(sluice({"help", command}).out, result.out);
        EXPECT_NE(result.out.find("\n  -h, --help            "), std::string::npos) << command;
        EXPECT_EQ(result.out.find("[ --"), std::string::npos) << command;
        EXPECT_EQ(result.out.find(" \n"), std::string::npos) << command;
        EXPECT_NE(general.find(command), std::string::npos);
    }
}

TEST(CommandLine, ShowsAJobThatIsValid) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "articles.csv") << "3,Title,Text\n";
    const std::string general = sluice({"--help"}).out;
    const std::size_t begin = general.find("  app = ");
    ASSERT_NE(begin, std::string::npos) << general;
    std::ofstream(folder.path() / "job.toml") << general.substr(begin);

    const ProcessResult result = sluice({"check", "job.toml"}, folder.path());

    EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(CommandLine, KnowsEveryExitCodeOfTheDocumentation) {
    const std::string general = sluice({"--help"}).out;
    const std::string run = sluice({"run", "--help"}).out;
    std::ifstream page(SLUICE_SOURCE_DIR "/docs/exit-codes.md");
    int codes = 0;
    for (std::string line; std::getline(page, line);) {
        int code = 0;
        if (std::sscanf(line.c_str(), "| %d |", &code) == 1) {
            const std::string entry = "  " + std::to_string(code) + "  ";
            EXPECT_NE(general.find(entry), std::string::npos) << code;
            EXPECT_NE(run.find(entry), std::string::npos) << code;
            ++codes;
        }
    }
    EXPECT_GT(codes, 10);
}

TEST(CommandLine, TakesNoPlanOutsideOfARunsFolderBesideWhichAFileMightBeReplaced) {
    const TemporaryFolder folder;
    write_file(folder.path() / "status.json", "mine");
    write_file(folder.path() / "plan.toml", "");

    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"exec"}, {"stop-reason", "--srun-rc", "0"}, {"follow", "--job", "7"}}) {
        for (const char* plan : {"plan.toml", "absent.toml", "./plan.toml", "labels.csv.sluice/job.toml"}) {
            std::vector<std::string> words = command;
            words.insert(words.end(), {"--plan", plan});
            const ProcessResult result = sluice(words, folder.path());

            EXPECT_EQ(result.exit_code, 64) << command.front() << " " << plan;
            EXPECT_NE(result.err.find("expected the plan.toml of a run's folder"), std::string::npos) << result.err;
        }
    }
    EXPECT_EQ(contents(folder.path() / "status.json"), "mine");
    EXPECT_EQ(names_in(folder.path()).size(), 2U);
}

TEST(CommandLine, RefusesWhatItDoesNotKnow) {
    const struct {
        std::vector<std::string> arguments;
        const char* message;
    } rows[] = {
        {{}, "got no command"},
        {{""}, "unknown command ''"},
        {{"rnu"}, "unknown command 'rnu'; did you mean 'run'?"},
        {{"jobs/job.toml"}, "unknown command 'jobs/job.toml'\n  hint: sluice run jobs/job.toml\n"},
        {{"--verison"}, "unknown option '--verison'; did you mean '--version'?"},
        {{"\x1b[2J"}, "unknown command '\\x1b[2J'"},
        {{"run"}, "sluice run: got no job file"},
        {{"run", ""}, "sluice run: got no job file"},
        {{"run", "a", "b"}, "sluice run: unexpected argument 'b'"},
        {{"run", "a", "b.toml"}, "unexpected argument 'b.toml'\n"},
        {{"run", "a", "run.device=host"}, "'run.device=host'; did you mean '--set run.device=host'?"},
        {{"run", "a", "--run.device=host"}, "'--run.device'; did you mean '--set run.device=host'?"},
        {{"run", "a", "--run.device", "host"}, "'--run.device'; did you mean '--set run.device=VALUE'?"},
        {{"status", "a", "run.device=host"}, "unexpected argument 'run.device=host'\n"},
        {{"run", "a", "--no-progres"}, "did you mean '--no-progress'?"},
        {{"run", "a", "--quie"}, "did you mean '--quiet'?"},
        {{"run", "a", "--no-prog"}, "did you mean '--no-progress'?"},
        {{"run", "a", "--set"}, "'--set' is missing"},
        {{"submit", "a", "--wait", "--dry-run"}, "sluice submit: got --wait, but --dry-run and"},
        {{"submit", "a", "--retry", "--dry-run"}, "sluice submit: got --retry, but --dry-run and"},
        {{"submit", "a", "--json", "--dry-run"}, "sluice submit: got --json, but --dry-run and"},
        {{"submit", "a", "--json", "--test-only"}, "sluice submit: got --json, but --dry-run and"},
        {{"submit", "a", "--", "--qos", "high"}, "sluice submit: got '--qos' 'high', expected '--qos=high'"},
        {{"submit", "a", "--", "high"}, "got 'high', expected one long option of sbatch"},
        {{"run", "a", "--time-left", "1 day"}, "got --time-left '1 day', expected 1 s to 365 days, as in \"04:00:00\""},
        {{"run", "a", "--time-left", "366d"}, "got --time-left '366d', expected 1 s to 365 days"},
        {{"run", "a", "--time-left", "0s"}, "got --time-left '0s', expected 1 s to 365 days"},
        {{"resume", "a", "--time-left=-1s"}, "got --time-left '-1s'"},
        {{"run", "a", "--json"}, "unknown option '--json'"},
        {{"check", "a", "--quiet"}, "unknown option '--quiet'"},
        {{"check"}, "sluice check: got no job file"},
        {{"topo", "--set", "run.device=host"}, "sluice topo: --set changes keys of a job, but no job file is named"},
        {{"ladder", "--host", "--rungs", "0,9"}, "--rungs: got '0,9', expected numbers up to 3, like 0,2-3"},
        {{"ladder", "--host", "--rungs", "2-1"}, "--rungs: got '2-1'"},
        {{"ladder", "--m", "0"}, "--m: got '0', expected an integer 1..1048576"},
        {{"ladder", "--seconds", "nan"}, "--seconds: got 'nan'"},
        {{"ladder", "--seconds", "61"}, "--seconds: got '61'"},
        {{"completion", "bash", "--", "-x"}, "got the program '-x', expected its name"},
        {{"ladder", "--json", "--svg"}, "--json and --svg: both are what stdout shows"},
        {{"doctor", "--set", "run.device=host"},
         "sluice doctor: --set changes keys of a job, but no job file is named"},
        {{"apps", "all"}, "sluice apps: unexpected argument 'all'"},
        {{"version", "-x"}, "unknown option '-x'"},
        {{"help", "rum"}, "unknown topic 'rum'; did you mean 'run'?"},
        {{"help", "run", "check"}, "unexpected argument 'check'"},
        {{"help", "E-RUN-001"}, "unknown topic 'E-RUN-001'\n  hint: docs/errors.md explains each message by its id"},
        {{"help", "pipeline.depth"}, "unknown topic 'pipeline.depth'\n  hint: sluice help keys pipeline.depth"},
        {{"help", "keys", "chunk_item"}, "unknown topic 'chunk_item'; did you mean 'chunk_items'?"},
        {{"help", "keys", ""}, "unknown topic ''"},
    };
    for (const auto& row : rows) {
        const ProcessResult result = sluice(row.arguments);

        EXPECT_EQ(result.exit_code, 64) << row.message;
        EXPECT_TRUE(result.err.starts_with("sluice: error[E-USE-098]: ")) << result.err;
        EXPECT_NE(result.err.find(row.message), std::string::npos) << result.err;
        EXPECT_EQ(result.out, "");
    }
}

TEST(CommandLine, SaysWhyTheRungsOfAGpuAreNotThere) {
    const ProcessResult result =
        Process({"/usr/bin/env", "CUDA_VISIBLE_DEVICES=", SLUICE_PROGRAM, "ladder", "--rungs", "0,12-18"},
                {.folder = "/"})
            .wait();

    EXPECT_EQ(result.exit_code, 64);
    EXPECT_NE(result.err.find("expected numbers up to 3, like 0,2-3 (the host's; no GPU: "), std::string::npos)
        << result.err;
}

TEST(CommandLine, DrawsTheRungsThatAreAskedFor) {
    const ProcessResult result =
        sluice({"ladder", "--host", "--svg", "--m", "33", "--n", "17", "--k", "5", "--rungs", "1-2", "--seconds", "0"});

    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(result.out.starts_with("<svg ")) << result.out;
    EXPECT_TRUE(result.out.ends_with("</svg>\n")) << result.out;
    EXPECT_NE(result.out.find(">1 naive (fp32)</text>"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find(">2 blocked (fp32)</text>"), std::string::npos) << result.out;
    EXPECT_EQ(result.out.find("oneDNN (fp32)"), std::string::npos) << result.out;
}

TEST(CommandLine, RefusesAJobFileThatCannotBeOpened) {
    for (const char* command : {"run", "check"}) {
        EXPECT_EQ(sluice({command, "none.toml"}).exit_code, 66);
        EXPECT_NE(sluice({command, "none.toml"}).err.find("error[E-CFG-001]: none.toml: "), std::string::npos);
        EXPECT_NE(sluice({command, "/tmp"}).err.find("error[E-CFG-002]: /tmp: is a folder"), std::string::npos);
    }
}

TEST(CommandLine, AsksWhetherTheJobFileOfThatNameWasMeant) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "job.toml") << good_job;
    std::filesystem::create_directory(folder.path() / "sub");
    std::ofstream(folder.path() / "sub.toml") << good_job;

    for (const char* command :
         {"run", "check", "topo", "doctor", "script", "submit", "resume", "verify", "status", "drain", "cancel"}) {
        for (const std::string name : {"job", "sub"}) {
            const ProcessResult result = sluice({command, name}, folder.path());

            EXPECT_EQ(result.exit_code, 66) << command;
            EXPECT_NE(result.err.find(name + ".toml'?\n"), std::string::npos) << command << ": " << result.err;
        }
        EXPECT_EQ(sluice({command, "jobs"}, folder.path()).err.find("did you mean"), std::string::npos) << command;
    }
}

TEST(CommandLine, ListsTheAppsAsTextAndAsJson) {
    const ProcessResult text = sluice({"apps"});
    const auto json = nlohmann::json::parse(sluice({"apps", "--json"}).out);

    ASSERT_FALSE(json.empty());
    for (const auto& app : json) {
        EXPECT_NE(text.out.find(app.at("name").get<std::string>()), std::string::npos);
        EXPECT_GT(app.at("input_bytes"), 0);
        for (const auto& key : app.at("keys")) {
            EXPECT_NE(text.out.find(key.at("name").get<std::string>() + ": "), std::string::npos);
        }
    }
    EXPECT_EQ(json.at(0).at("keys").at(0).at("name"), "output.scores");
    EXPECT_EQ(json.at(0).at("keys").at(0).at("takes"), "true or false");
}

TEST(CommandLine, TellsTheVersionsOfAllThatItIsMadeOf) {
    const ProcessResult text = sluice({"--version"});
    const auto json = nlohmann::json::parse(sluice({"--version", "--json"}).out);

    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_EQ(sluice({"version"}).out, text.out);
    for (const char* name : {"sluice", "commit", "compiler", "mpi", "cuda", "onednn", "hwloc", "pcre2", "utf8proc"}) {
        const auto version = json.at(name).get<std::string>();
        EXPECT_FALSE(version.empty()) << name;
        EXPECT_NE(text.out.find(" " + version + "\n"), std::string::npos) << name;
    }
    EXPECT_TRUE(
        std::regex_match(json.at("pcre2").get<std::string>(), std::regex(R"(\d+\.\d+ \S+, Unicode \d+\.\d+\.\d+)")));
    EXPECT_TRUE(std::regex_match(json.at("utf8proc").get<std::string>(),
                                 std::regex(R"(\d+\.\d+\.\d+, Unicode \d+\.\d+\.\d+)")));
}

TEST(CommandLine, ListsTheKeysOfAJob) {
    const ProcessResult result = sluice({"help", "keys"});

    EXPECT_EQ(result.exit_code, 0);
    EXPECT_NE(result.out.find("[pipeline]"), std::string::npos);
    EXPECT_NE(result.out.find("chunk_items"), std::string::npos);
    EXPECT_NE(result.out.find("[output] of app 'classifier'\n  scores "), std::string::npos);
}

TEST(Check, AdvisesNoPrecisionThatTheHostMayRefuseToo) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "articles.txt") << "one\n";
    std::ofstream(folder.path() / "job.toml") << good_job;

    const ProcessResult result =
        sluice({"check", "job.toml", "--set", "run.device=host", "--set", "run.precision=fp8"}, folder.path());

    EXPECT_EQ(result.exit_code, 78);
    EXPECT_NE(result.err.find("in which classifier does not compute\n  hint: leave it out\n"), std::string::npos)
        << result.err;
}

TEST(Check, FindsNothingWrongWithAGoodJobAndLeavesNoFile) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "articles.txt") << "one\ntwo\nthree\n";
    std::ofstream(folder.path() / "job.toml") << good_job;

    const ProcessResult text = sluice({"check", "job.toml", "--set", "pipeline.chunk_items=2"}, folder.path());
    const ProcessResult json = sluice({"check", "job.toml", "--json", "--set=pipeline.chunk_items=2"}, folder.path());

    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_NE(text.out.find("path articles.txt, format txt, files 1, items 3, file_bytes 14"), std::string::npos)
        << text.out;
    EXPECT_NE(text.out.find("chunks 2, chunk_items 2"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("settings  output.scores "), std::string::npos) << text.out;
    const auto object = nlohmann::json::parse(json.out);
    EXPECT_EQ(object.at("input").at("items"), 3);
    EXPECT_EQ(object.at("pipeline").at("chunks"), 2);
    EXPECT_EQ(object.at("output").at("path"), "labels.csv");
    EXPECT_EQ(object.at("settings").at("output.scores"), false);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "labels.csv"));
}

TEST(Check, GivesAnAppsSettingsInTheirOwnTypes) {
    const TemporaryFolder folder;
    std::vector<std::string> check{"check", SLUICE_SOURCE_DIR "/examples/gpt2.toml",
                                   "--set", "output.path=" + (folder.path() / "texts.jsonl").native(),
                                   "--set", "generate.stop=[\"\\n\", \"b\"]"};

    const ProcessResult text = sluice(check);
    check.emplace_back("--json");
    const auto settings = nlohmann::json::parse(sluice(check).out).at("settings");

    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_NE(text.out.find("generate.stop [\"\\n\",\"b\"]"), std::string::npos) << text.out;
    EXPECT_EQ(settings.at("generate.stop"), nlohmann::json({"\n", "b"}));
    EXPECT_TRUE(settings.at("generate.max_new_tokens").is_number_integer());
    EXPECT_TRUE(settings.at("generate.temperature").is_number_float());
    EXPECT_EQ(settings.at("generate.results"), "text");
    EXPECT_EQ(settings.at("generate.end_of_text"), true);
}

TEST(Run, KeepsItsExitCodeWhenNobodyReadsStdout) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "articles.txt") << "one\ntwo\nthree\n";
    std::ofstream(folder.path() / "job.toml") << good_job;

    const ProcessResult full = sluice({"run", "job.toml"}, folder.path(), Stdout::full);
    const ProcessResult closed = sluice({"run", "job.toml"}, folder.path(), Stdout::closed);

    EXPECT_EQ(full.exit_code, 0) << full.err;
    EXPECT_EQ(closed.exit_code, 0) << closed.err;
    EXPECT_EQ(std::filesystem::file_size(folder.path() / "labels.csv"),
              std::string("item,label\n0,0\n1,0\n2,0\n").size());
}

TEST(Check, RefusesAnOutputInWhosePlaceAnotherFileLies) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "articles.txt") << "one\ntwo\nthree\n";
    std::ofstream(folder.path() / "job.toml") << good_job;
    std::ofstream(folder.path() / "labels.csv") << "mine";

    const ProcessResult result = sluice({"check", "job.toml"}, folder.path());

    EXPECT_EQ(result.exit_code, 73) << result.out;
    EXPECT_NE(result.err.find("error[E-OUT-022]"), std::string::npos) << result.err;
    EXPECT_EQ(contents(folder.path() / "labels.csv"), "mine");
}

TEST(Check, AcceptsAnInputWithoutItemsWhenTheJobAllowsIt) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "articles.txt").close();
    std::ofstream(folder.path() / "job.toml") << good_job << "input.allow_empty = true\n";

    const ProcessResult result = sluice({"check", "job.toml"}, folder.path());

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find("items 0"), std::string::npos);
}

}  // namespace
}  // namespace sluice::test
