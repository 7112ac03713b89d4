#include "core/config/config.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>
#include <string>
#include <vector>

#include "core/config/schema.hpp"
#include "core/config/text.hpp"
#include "tests/core/config/config_jobs.hpp"
#include "tests/support/job_file_reference.hpp"
#include "tests/support/without_descriptors.hpp"

namespace sluice {
namespace {

TEST(Config, FillsInEveryDefault) {
    const JobConfig job = parse(smallest_job);

    EXPECT_EQ(job.app, "classifier");
    EXPECT_EQ(job.input.paths, Paths{"articles.txt"});
    EXPECT_EQ(job.input.format, InputFormat::txt);
    EXPECT_TRUE(job.input.columns.empty());
    EXPECT_FALSE(job.input.header);
    EXPECT_FALSE(job.input.allow_empty);
    EXPECT_EQ(job.input.count, std::nullopt);
    EXPECT_EQ(job.model.weights, "model.safetensors");
    EXPECT_EQ(job.model.random, std::nullopt);
    EXPECT_EQ(job.output.format, OutputFormat::csv);
    EXPECT_FALSE(job.settings.get<bool>("output.scores"));
    EXPECT_EQ(job.output.report, "labels.csv.report.json");
    EXPECT_EQ(job.run.device, DeviceKind::automatic);
    EXPECT_EQ(job.run.devices, std::nullopt);
    EXPECT_EQ(job.pipeline.mode, PipelineMode::overlap);
    EXPECT_EQ(job.pipeline.distribution, Distribution::pull);
    EXPECT_EQ(job.pipeline.chunk_items, std::nullopt);
    EXPECT_EQ(job.pipeline.depth, std::nullopt);
}

TEST(Config, DoesWithoutAnInputFileWhereItHasACountOfItems) {
    const JobConfig job = parse("app = \"namegen\"\ninput.count = 7\nmodel.random = 1\noutput.path = \"a.csv\"\n");

    EXPECT_TRUE(job.input.paths.empty());
    EXPECT_EQ(job.input.count, 7U);
}

TEST(Config, TakesACountOfOneForNone) {
    EXPECT_EQ(parse(smallest_job, {set("input.count=1")}), parse(smallest_job));
}

TEST(Config, ReadsEveryKey) {
    const JobConfig job = parse(R"(
app = "classifier"
[input]
path = "a.data"
format = "csv"
columns = [2, "body"]
header = true
allow_empty = true
count = 5
[model]
random = 9223372036854775807
[output]
path = "out/b.npy"
scores = true
report = "r.json"
[run]
device = "cuda"
devices = 4
[pipeline]
mode = "serial"
distribution = "static"
chunk_items = 1048576
depth = 1
)");

    EXPECT_EQ(job.app, "classifier");
    EXPECT_EQ(job.input.format, InputFormat::csv);
    EXPECT_EQ(job.input.columns, (std::vector<ColumnRef>{2U, "body"}));
    EXPECT_TRUE(job.input.header);
    EXPECT_TRUE(job.input.allow_empty);
    EXPECT_EQ(job.input.count, 5U);
    EXPECT_EQ(job.model.random, 9223372036854775807U);
    EXPECT_EQ(job.output.format, OutputFormat::npy);
    EXPECT_TRUE(job.settings.get<bool>("output.scores"));
    EXPECT_EQ(job.output.report, "r.json");
    EXPECT_EQ(job.run.device, DeviceKind::cuda);
    EXPECT_EQ(job.run.devices, 4U);
    EXPECT_EQ(job.pipeline.mode, PipelineMode::serial);
    EXPECT_EQ(job.pipeline.distribution, Distribution::fixed);
    EXPECT_EQ(job.pipeline.chunk_items, 1048576U);
    EXPECT_EQ(job.pipeline.depth, 1U);
}

TEST(Config, TakesRelativePathsFromTheJobFilesFolder) {
    const JobConfig job =
        parse(smallest_job, {set("model.weights=/models/m.bin"), set("output.path=sub/x.csv")}, "jobs");

    EXPECT_EQ(job.input.paths, Paths{"jobs/articles.txt"});
    EXPECT_EQ(*job.model.weights, "/models/m.bin");
    EXPECT_EQ(job.output.path, "jobs/sub/x.csv");
    EXPECT_EQ(job.output.report, "jobs/sub/x.csv.report.json");
}

TEST(Config, NamesTheReportAfterTheOutput) {
    const auto report = [](const char* path) {
        return parse(smallest_job, {{"output.path", path}, {"output.format", "csv"}}, "/jobs/here").output.report;
    };

    EXPECT_EQ(report("x.csv"), "/jobs/here/x.csv.report.json");
    EXPECT_EQ(report("parts/"), "/jobs/here/parts.report.json");
    EXPECT_EQ(report("./"), "/jobs/here.report.json");
    EXPECT_EQ(report("a/../"), "/jobs/here.report.json");
}

TEST(Config, TakesAnyCharactersInAString) {
    const std::string name = "a\"b" + std::string(100, '[') + "#.csv";
    const std::string quoted_name = "a\\\"b" + std::string(100, '[') + "#.csv";

    EXPECT_EQ(parse(std::string(smallest_job) + "output.report = \"" + quoted_name + "\"\n").output.report, name);
}

TEST(Config, ChoosesTheFormatByExtensionUnlessItIsGiven) {
    const auto format = [](const char* path) { return parse(smallest_job, {{"input.path", path}}).input.format; };

    EXPECT_EQ(format("a.csv"), InputFormat::csv);
    EXPECT_EQ(format("a.b/c.TXT"), InputFormat::txt);
    EXPECT_EQ(format("a.npy"), InputFormat::npy);
    EXPECT_EQ(format("a.bin"), InputFormat::onehot_f32);
    EXPECT_EQ(format("a.u8"), InputFormat::u8);
    EXPECT_EQ(parse(smallest_job, {set("input.path=a.jsonl"), set("input.columns=[\"t\"]")}).input.format,
              InputFormat::jsonl);
    EXPECT_EQ(parse(smallest_job, {set("input.path=a.dat"), set("input.format=u8")}).input.format, InputFormat::u8);
    EXPECT_EQ(parse(smallest_job, {set("output.path=a.jsonl")}).output.format, OutputFormat::jsonl);
}

TEST(Config, AcceptsAByteOrderMarkAndWindowsLineEnds) {
    std::string text = "\xef\xbb\xbf";
    for (const char c : smallest_job) {
        text += c == '\n' ? "\r\n" : std::string(1, c);
    }

    EXPECT_EQ(parse(text), parse(smallest_job));
    EXPECT_EQ(refusal("\xef\xbb\xbf"
                      "apps = 1\n")
                  .text()
                  .where,
              "job.toml:1:1");
}

TEST(JobFile, IsReadFromDisk) {
    const Folder folder;

    const JobConfig job = read_job(folder.write("job.toml", smallest_job), {}, apps);

    EXPECT_EQ(job.input.paths, Paths{folder.path() / "articles.txt"});
}

TEST(JobFile, ThatCannotBeReadIsNamed) {
    const Folder folder;
    const auto fifo = folder.path() / "fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    const auto refused = [](const std::filesystem::path& file) {
        return test::error_of([&] { return read_job(file, {}, apps); });
    };

    EXPECT_EQ(refused(folder.path() / "none.toml").text().id, "E-CFG-001");
    EXPECT_EQ(refused(folder.path() / "none.toml").code(), ExitCode::no_input);
    EXPECT_NE(refused(folder.path() / "none.toml").text().where.find("none.toml"), std::string::npos);
    EXPECT_EQ(refused(folder.path()).text().id, "E-CFG-002");
    EXPECT_EQ(refused(fifo).text().id, "E-CFG-002");
    EXPECT_EQ(refused("/dev/null").text().id, "E-CFG-002");
    EXPECT_EQ(refused(folder.write("big.toml", std::string(largest_job_file + 1, '#'))).text().id, "E-CFG-004");
    EXPECT_EQ(refused(folder.write("most.toml", std::string(largest_job_file, '#'))).text().id, "E-CFG-013");
}

TEST(JobFile, IsNotAtFaultWhereTooManyFilesAreOpen) {
    const Folder folder;
    const auto job = folder.write("job.toml", smallest_job);

    EXPECT_EXIT(test::exit_without_descriptors([&] { static_cast<void>(read_job(job, {}, apps)); }),
                testing::ExitedWithCode(71), "E-IO-005");
}

TEST(JobFileReference, NamesEveryKeyWithWhatItTakesAndItsDefault) {
    const JobFileReference reference(SLUICE_SOURCE_DIR);

    for (const KeySpec& key : job_keys()) {
        EXPECT_EQ(reference.problem_with(key), "");
    }
}

TEST(DescribeKeys, ListsEveryKey) {
    const std::string text = "\n" + describe_keys(apps);

    for (const KeySpec& key : job_keys()) {
        EXPECT_NE(text.find("\n  " + std::string(key.name)), std::string::npos) << key.name;
        EXPECT_NE(text.find(key.help), std::string::npos) << key.name;
    }
}

}  // namespace
}  // namespace sluice
