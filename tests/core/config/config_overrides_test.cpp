#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "core/config/schema.hpp"
#include "tests/core/config/config_jobs.hpp"

namespace sluice {
namespace {

TEST(Overrides, SetAnyKey) {
    for (const KeySpec& key : job_keys()) {
        const bool list = key.type == KeyType::columns || key.type == KeyType::words;
        const std::string value = list                               ? "[]"
                                  : key.type == KeyType::duration    ? "240s"
                                  : key.full_name() == "slurm.mem"   ? "480G"
                                  : key.type == KeyType::boolean     ? "false"
                                  : key.type == KeyType::integer     ? "1"
                                  : key.name == "app"                ? "gpt2"
                                  : key.full_name() == "output.path" ? "x.csv"
                                  : !key.choices.empty()             ? std::string(key.choices.back())
                                                                     : "x.u8";
        EXPECT_NO_THROW((void)parse(smallest_job, {{key.full_name(), value}})) << key.full_name();
    }
}

TEST(Overrides, TakeBareWordsWhereAStringIsExpected) {
    const JobConfig job =
        parse(smallest_job, {set("app=gpt2"), set("input.path=2024.txt"), set("run.device = \"host\""),
                             set("output.path='a b.csv'"), set("pipeline.depth=auto"), set("output.report=a=b")});

    EXPECT_EQ(job.app, "gpt2");
    EXPECT_EQ(job.input.paths, Paths{"2024.txt"});
    EXPECT_EQ(job.run.device, DeviceKind::host);
    EXPECT_EQ(job.output.path, "a b.csv");
    EXPECT_EQ(job.pipeline.depth, std::nullopt);
    EXPECT_EQ(job.output.report, "a=b");
}

TEST(Overrides, WinOverTheFileAndTheLastOneWins) {
    const std::string text = smallest_job + "pipeline.depth = 2\n";

    EXPECT_EQ(parse(text, {set("pipeline.depth=3"), set("pipeline.depth=4")}).pipeline.depth, 4U);
}

TEST(Overrides, TakeAKeyAwayWithoutAValue) {
    const std::string text = smallest_job + "pipeline.depth = 2\n";

    EXPECT_EQ(parse(text, {set("pipeline.depth=")}).pipeline.depth, std::nullopt);
    EXPECT_EQ(parse(text, {set("pipeline.depth= "), set("pipeline.depth=3")}).pipeline.depth, 3U);
    EXPECT_EQ(parse(text, {set("pipeline.depth=3"), set("pipeline.depth=")}).pipeline.depth, std::nullopt);
    EXPECT_EQ(parse(smallest_job, {set("pipeline.depth=")}), parse(smallest_job, {}));
    EXPECT_EQ(refusal(smallest_job, {set("output.path=")}).text().what, "[output].path is required");
    EXPECT_EQ(refusal(smallest_job, {set("pipeline.dept=")}).text().id, "E-CFG-009");
    EXPECT_EQ(refusal(smallest_job, {set("output.report=\"\"")}).text().id, "E-CFG-011");
}

TEST(Overrides, ReplaceWeightsByRandomOnesAndBack) {
    const JobConfig random = parse(smallest_job, {set("model.random=17")});
    const JobConfig both_changed = parse(smallest_job, {set("model.weights=b.bin")});

    EXPECT_EQ(random.model, (JobConfig::Model{std::nullopt, 17U}));
    EXPECT_EQ(both_changed.model.weights, "b.bin");
    EXPECT_EQ(refusal(smallest_job, {set("model.weights=b.bin"), set("model.random=1")}).text().id, "E-CFG-105");
}

TEST(Overrides, AreNamedInMessages) {
    const Error type = refusal(smallest_job, {set("pipeline.depth=x")});
    const Error range = refusal(smallest_job, {set("pipeline.depth=0")});
    const Error unknown = refusal(smallest_job, {set("pipline.depth=1")});
    const Error section = refusal(smallest_job, {set("run.depth=1")});

    EXPECT_EQ(type.code(), ExitCode::configuration);
    EXPECT_EQ(type.text().where, "--set pipeline.depth=x");
    EXPECT_EQ(type.text().what, "pipeline.depth: got 'x', expected an integer 1..1024 or \"auto\"");
    EXPECT_EQ(range.text().id, "E-CFG-011");
    EXPECT_EQ(unknown.text().what, "unknown key 'pipline.depth'; did you mean 'pipeline.depth'?");
    EXPECT_EQ(section.text().what, "unknown key 'run.depth'; did you mean 'pipeline.depth'?");
    EXPECT_EQ(section.text().hint, "");
    EXPECT_EQ(refusal(smallest_job, {set("zzzzzz=1")}).text().hint, "`sluice help keys` lists all keys");
    EXPECT_EQ(refusal(smallest_job + "run.zzzzzz = 1\n").text().hint, "`sluice help keys` lists all keys");
}

TEST(Overrides, CannotSmuggleASecondKey) {
    const Error refused = refusal(smallest_job, {{"pipeline.depth", "4\nother = 1"}});

    EXPECT_EQ(refused.text().id, "E-CFG-010");
    EXPECT_EQ(refusal(smallest_job, {{"output.report", "a\nb"}}).text().id, "E-CFG-017");
    EXPECT_EQ(refusal(smallest_job, {{"pipeline.depth", repeated("[", 10'000)}}).text().id, "E-CFG-007");
    EXPECT_EQ(refusal(smallest_job, {{"input.path", "\xff.txt"}}).text().id, "E-CFG-005");
}

TEST(Overrides, NeedAnEqualsSign) {
    for (const char* text : {"", "=", "=4", " = 4", "pipeline.depth"}) {
        EXPECT_EQ(test::error_of([&] { return parse_override(text); }).code(), ExitCode::usage) << text;
    }
    EXPECT_EQ(parse_override("a.b=").value, "");
}

}  // namespace
}  // namespace sluice
