#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/config/schema.hpp"
#include "tests/core/config/config_jobs.hpp"

namespace sluice {
namespace {

const std::string namegen_job = "app = \"namegen\"\n" + smallest_job.substr(smallest_job.find('\n') + 1);  // 4 lines

TEST(AppKeys, HaveTheirDefaults) {
    const AppSettings settings = parse(namegen_job).settings;

    EXPECT_FALSE(settings.get<bool>("generate.greedy"));
    EXPECT_EQ(settings.get<std::uint64_t>("generate.seed"), 17U);
    EXPECT_EQ(settings.get<double>("generate.temperature"), 0.8);
    EXPECT_EQ(settings.get<std::string>("generate.mode"), "sample");
    EXPECT_EQ(settings.get<std::string>("generate.limit"), "auto");
    EXPECT_EQ(settings.find("generate.prefixes"), nullptr);
    EXPECT_EQ(settings, default_settings(namegen_keys));
    EXPECT_THROW((void)settings.get<bool>("generate.other"), ContractViolation);
}

TEST(AppKeys, AreReadFromTheFileAndFromTheCommandLine) {
    const AppSettings settings = parse_job(namegen_job +
                                               "[generate]\ngreedy = true\ntemperature = 1\nlimit = 7\n"
                                               "prefixes = \"p.txt\"\nstop = [\"\\n\"]\n",
                                           "job.toml", "/jobs", std::vector{set("generate.mode=beam")}, apps)
                                     .settings;

    EXPECT_TRUE(settings.get<bool>("generate.greedy"));
    EXPECT_EQ(settings.get<double>("generate.temperature"), 1.0);
    EXPECT_EQ(settings.get<std::uint64_t>("generate.limit"), 7U);
    EXPECT_EQ(settings.get<std::filesystem::path>("generate.prefixes"), "/jobs/p.txt");
    EXPECT_EQ(settings.get<std::vector<std::string>>("generate.stop"), std::vector<std::string>{"\n"});
    EXPECT_EQ(settings.get<std::string>("generate.mode"), "beam");
}

TEST(AppKeys, SayWhichOfThemAnAppMistakes) {
    const AppSettings settings = parse(namegen_job).settings;
    const auto violation = [](auto ask) -> std::string {
        try {
            ask();
            return "none";
        } catch (const ContractViolation& broken) {
            return broken.what();
        }
    };

    const std::string of_another_type = violation([&] { (void)settings.get<bool>("generate.temperature"); });
    const std::string found_as_another = violation([&] { (void)settings.find<bool>("generate.temperature"); });
    const std::string unknown = violation([&] { (void)settings.get<bool>("generate.heat"); });

    EXPECT_EQ(of_another_type, "the app asks for 'generate.temperature' as another type than its key has");
    EXPECT_EQ(found_as_another, of_another_type);
    EXPECT_EQ(unknown, "the app asks for 'generate.heat', which is none of its keys, or has no default");
}

TEST(AppKeys, ReadBackToTheSameOnOtherRanks) {
    const AppSettings settings =
        parse(namegen_job, {set("generate.temperature=0.1"), set("generate.prefixes=a b.txt")}).settings;

    EXPECT_EQ(decode_settings(encode(settings), namegen_keys), settings);
    EXPECT_EQ(decode_settings("", {}), AppSettings());
    EXPECT_THROW((void)decode_settings(encode(settings), gpt2_keys), ContractViolation);
}

TEST(AppKeys, OfAnotherAppSayWhoseTheyAre) {
    const Error in_file = refusal(namegen_job + "output.scores = true\n");
    const Error override = refusal(smallest_job, {set("generate.mode=beam")});
    const Error shared = refusal(smallest_job + "generate.temperature = 1\n");
    const Error in_section = refusal(smallest_job + "[generate.text]\ntokens = 1\n");

    EXPECT_EQ(in_file.code(), ExitCode::configuration);
    EXPECT_EQ(in_file.text().id, "E-CFG-018");
    EXPECT_EQ(in_file.text().where, "job.toml:5:8");
    EXPECT_EQ(in_file.text().what, "'output.scores' belongs to app 'classifier'; this job's app is 'namegen'");
    EXPECT_EQ(override.text().where, "--set generate.mode=beam");
    EXPECT_EQ(override.text().what, "'generate.mode' belongs to app 'namegen'; this job's app is 'classifier'");
    EXPECT_EQ(shared.text().what,
              "'generate.temperature' belongs to apps 'namegen', 'gpt2'; this job's app is 'classifier'");
    EXPECT_EQ(in_section.text().what, "'generate.text.tokens' belongs to app 'gpt2'; this job's app is 'classifier'");
}

TEST(AppKeys, FollowTheAppThatTheCommandLineNames) {
    EXPECT_EQ(
        parse(smallest_job, {set("app=namegen"), set("generate.seed=3")}).settings.get<std::uint64_t>("generate.seed"),
        3U);
    EXPECT_EQ(parse(smallest_job, {set("app=\"gpt2\""), set("generate.temperature=2")})
                  .settings.get<double>("generate.temperature"),
              2.0);
    EXPECT_EQ(refusal("app = \"gtp2\"\ngenerate.temperature = 1\n").text().what,
              "app: unknown app 'gtp2'; did you mean 'gpt2'?");
}

TEST(AppKeys, OfAnAppThatTheProgramDoesNotHaveAreNotBlamedInItsPlace) {
    const Error in_file = refusal(smallest_job + "embed.width = 1\n", {set("app=embedder")});
    const Error override = refusal("app = \"embedder\"\n", {set("embed.width=1")});

    EXPECT_EQ(in_file.text().where, "--set app=embedder");
    EXPECT_EQ(in_file.text().what, "app: unknown app 'embedder'");
    EXPECT_EQ(override.text().where, "job.toml:1:7");
    EXPECT_EQ(override.text().what, "app: unknown app 'embedder'");
}

TEST(AppKeys, AreSuggestedToTheirApp) {
    EXPECT_EQ(refusal(namegen_job + "generate.temprature = 1\n").text().what,
              "unknown key 'temprature' in [generate]; did you mean 'temperature'?");
    EXPECT_EQ(refusal(namegen_job + "[run]\nseed = 1\n").text().what,
              "unknown key 'seed' in [run]; did you mean 'generate.seed'?");
    EXPECT_EQ(refusal(smallest_job, {set("output.score=true")}).text().what,
              "unknown key 'output.score'; did you mean 'output.scores'?");
}

TEST(AppKeys, AreSuggestedToAnotherAppWhereNothingElseIsLikeThem) {
    EXPECT_EQ(refusal(smallest_job + "[generate]\ntemperture = 1\n").text().what,
              "unknown key 'temperture' in [generate]; did you mean 'temperature', which only another app has?");
    EXPECT_EQ(refusal(smallest_job, {set("generate.temperture=1")}).text().what,
              "unknown key 'generate.temperture'; did you mean 'temperature', which only another app has?");
    EXPECT_EQ(refusal(smallest_job + "[generate]\nxyz = 1\n").text().what, "unknown key 'xyz' in [generate]");
}

TEST(AppKeys, AreRequiredWhereTheySaySo) {
    constexpr KeySpec key{.section = "generate", .name = "tokenizer", .type = KeyType::path, .required = true};
    const AppKeys owner{.app = "classifier", .keys = {&key, 1}};

    const auto parsed = [&](const std::vector<Override>& overrides) {
        return parse_job(smallest_job, "job.toml", "", overrides, {&owner, 1});
    };

    EXPECT_EQ(test::error_of([&] { return parsed({}); }).text().what, "[generate].tokenizer is required");
    EXPECT_EQ(parsed({set("generate.tokenizer=t.json")}).settings.get<std::filesystem::path>("generate.tokenizer"),
              "t.json");
}

TEST(AppKeys, AreNamedWhereAnAppCannotHaveThem) {
    const auto violation = [](const KeySpec& key) -> std::string {
        const AppKeys owner{.app = "classifier", .keys = {&key, 1}};
        try {
            (void)JobSchema({&owner, 1}, "classifier");
            (void)default_settings(owner.keys);
            return "none";
        } catch (const ContractViolation& broken) {
            return broken.what();
        }
    };

    EXPECT_EQ(violation({.section = "words", .name = "least"}), "none");
    EXPECT_EQ(violation({.section = "run", .name = "device"}),
              "the app's key 'run.device' has the name of another key");
    EXPECT_EQ(violation({.name = "least"}), "the app's key 'least' stands in no section");
    EXPECT_EQ(violation({.section = "words", .name = "at least"}),
              "the app's key 'words.at least' has other characters than letters, digits, _ and -");
    EXPECT_EQ(violation({.section = "words", .name = "files", .type = KeyType::paths}),
              "the app's key 'words.files' names several files");
    for (const KeyType type : {KeyType::integer, KeyType::real, KeyType::name, KeyType::columns}) {
        EXPECT_EQ(violation({.section = "words", .name = "least", .type = type}),
                  "the app's key 'words.least' needs a range of values");
    }
    EXPECT_THAT(
        violation({.section = "words", .name = "least", .type = KeyType::integer, .most = 9, .fallback = "seven"}),
        testing::StartsWith("the default of the app's key 'words.least', seven, cannot be read: "));
    EXPECT_EQ(
        violation({.section = "words", .name = "least", .type = KeyType::integer, .most = 5, .fallback = "9"}),
        "the default of the app's key 'words.least', 9, cannot be read: words.least: got 9, expected an integer 0..5");
}

TEST(AppKeys, NameFilesThatNoOutputReplaces) {
    EXPECT_EQ(refusal(namegen_job, {set("generate.prefixes=labels.csv")}).text().id, "E-SEC-019");
    EXPECT_EQ(refusal(namegen_job, {set("generate.prefixes=labels.csv")}).text().what,
              "output.path: 'labels.csv' is also generate.prefixes, which it would replace");
}

TEST(AppKeys, MoveWithTheOtherPathsOfAJob) {
    JobConfig job = parse(namegen_job, {set("generate.prefixes=p.txt")});

    change_paths(job, [](const std::filesystem::path& path) { return "/x" / path; });

    EXPECT_EQ(job.settings.get<std::filesystem::path>("generate.prefixes"), "/x/p.txt");
    EXPECT_EQ(job.input.paths, Paths{"/x/articles.txt"});
    EXPECT_EQ(job.model.weights, "/x/model.safetensors");
    EXPECT_EQ(job.output.path, "/x/labels.csv");
    EXPECT_EQ(job.output.report, "/x/labels.csv.report.json");
}

TEST(DescribeKeys, NamesTheAppOfItsKeys) {
    const std::string text = describe_keys(apps);

    EXPECT_NE(text.find("\n[generate] of app 'namegen'\n"), std::string::npos) << text;
    EXPECT_NE(text.find("takes a number 0..2; default 0.8\n"), std::string::npos) << text;
}

TEST(DescribeKeys, ShowsASectionAKeyOrAnApp) {
    const auto rows = [](std::string_view topic) {
        const std::string text = describe_keys(apps, topic);
        return std::pair(text.substr(0, text.find('\n')), std::ranges::count(text, '\n'));
    };
    using Rows = std::pair<std::string, std::ptrdiff_t>;
    constexpr std::ptrdiff_t lines_of_key = 2;

    EXPECT_EQ(rows("pipeline"), Rows("[pipeline]", 1 + 5 * lines_of_key));
    EXPECT_EQ(rows("pipeline.depth"), Rows("[pipeline]", 1 + lines_of_key));
    EXPECT_EQ(rows("depth"), rows("pipeline.depth"));
    EXPECT_EQ(rows("app").second, lines_of_key);
    EXPECT_EQ(rows("generate.temperature"), Rows("[generate] of app 'namegen'", 2 * (1 + lines_of_key) + 1));
    EXPECT_EQ(rows("gpt2").first, "[generate] of app 'gpt2'");
    EXPECT_TRUE(describe_keys(apps, "generate").starts_with(describe_keys(apps, "namegen")));
    EXPECT_EQ(describe_keys(apps, "pipe"), "");
    EXPECT_EQ(describe_keys(apps, ""), "");
}

TEST(DescribeKeys, ShowsEachOfItsTopics) {
    const std::vector<std::string> topics = key_topics(apps);

    EXPECT_TRUE(std::ranges::binary_search(topics, "pipeline.depth"));
    EXPECT_TRUE(std::ranges::binary_search(topics, "namegen"));
    for (const std::string& topic : topics) {
        EXPECT_NE(describe_keys(apps, topic), "") << topic;
    }
}

struct BadReal {
    const char* value;
    const char* id;
    const char* what;
};

class RefusesAReal : public testing::TestWithParam<BadReal> {};

TEST_P(RefusesAReal, ThatIsNone) {
    const Error refused = refusal(namegen_job + "generate.temperature = " + GetParam().value + "\n");

    EXPECT_EQ(refused.text().id, GetParam().id);
    EXPECT_EQ(refused.text().where, "job.toml:5:24");
    EXPECT_EQ(refused.text().what,
              std::string("generate.temperature: got ") + GetParam().what + ", expected a number 0..2");
}

INSTANTIATE_TEST_SUITE_P(AppKeys, RefusesAReal,
                         testing::Values(BadReal{"nan", "E-CFG-012", "float nan"},
                                         BadReal{"inf", "E-CFG-012", "float inf"},
                                         BadReal{"2.0000001", "E-CFG-011", "2.0000001"},
                                         BadReal{"-1", "E-CFG-011", "-1"}, BadReal{"3", "E-CFG-011", "3"},
                                         BadReal{"\"1\"", "E-CFG-010", "string '1'"},
                                         BadReal{"true", "E-CFG-010", "true"}));

TEST(AppKeys, TakeNoNegativeZeroForAnotherNumber) {
    EXPECT_EQ(encode(parse(namegen_job, {set("generate.temperature=-0.0")}).settings),
              encode(parse(namegen_job, {set("generate.temperature=0")}).settings));
}

}  // namespace
}  // namespace sluice
