#include "core/config.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "core/config_schema.hpp"
#include "core/config_text.hpp"
#include "core/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 3> apps{"classifier", "namegen", "gpt2"};

const std::string smallest_job =
    "app = \"classifier\"\n"                   // line 1
    "input.path = \"articles.txt\"\n"          // line 2
    "model.weights = \"model.safetensors\"\n"  // line 3
    "output.path = \"labels.csv\"\n";          // line 4

JobConfig parse(const std::string& text, const std::vector<Override>& overrides = {},
                const std::filesystem::path& base = {}) {
    return parse_job(text, "job.toml", base, overrides, apps);
}

Override set(const char* text) {
    return parse_override(text);
}

struct Refused {
    ExitCode code = ExitCode::ok;
    ErrorText text;
};

template <class Action>
Refused refusal_of(Action action) {
    try {
        (void)action();
    } catch (const Error& error) {
        return {error.code(), error.text()};
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
}

Refused refusal(const std::string& text, const std::vector<Override>& overrides = {}) {
    return refusal_of([&] { return parse(text, overrides); });
}

class Folder : public TemporaryFolder {
public:
    [[nodiscard]] std::filesystem::path write(const char* name, const std::string& bytes) const {
        std::ofstream(path() / name, std::ios::binary) << bytes;
        return path() / name;
    }
};

TEST(Config, FillsInEveryDefault) {
    const JobConfig job = parse(smallest_job);

    EXPECT_EQ(job.app, "classifier");
    EXPECT_EQ(job.input.path, "articles.txt");
    EXPECT_EQ(job.input.format, InputFormat::txt);
    EXPECT_TRUE(job.input.columns.empty());
    EXPECT_FALSE(job.input.header);
    EXPECT_FALSE(job.input.allow_empty);
    EXPECT_EQ(job.model.weights, "model.safetensors");
    EXPECT_EQ(job.model.random, std::nullopt);
    EXPECT_EQ(job.output.format, OutputFormat::csv);
    EXPECT_FALSE(job.output.scores);
    EXPECT_EQ(job.output.report, "report.json");
    EXPECT_EQ(job.run.device, DeviceKind::automatic);
    EXPECT_EQ(job.run.devices, std::nullopt);
    EXPECT_EQ(job.pipeline.mode, PipelineMode::overlap);
    EXPECT_EQ(job.pipeline.distribution, Distribution::pull);
    EXPECT_EQ(job.pipeline.chunk_items, std::nullopt);
    EXPECT_EQ(job.pipeline.depth, std::nullopt);
}

TEST(Config, ReadsEveryKey) {
    const JobConfig job = parse(R"(
app = "gpt2"
[input]
path = "a.data"
format = "csv"
columns = [2, "body"]
header = true
allow_empty = true
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

    EXPECT_EQ(job.app, "gpt2");
    EXPECT_EQ(job.input.format, InputFormat::csv);
    EXPECT_EQ(job.input.columns, (std::vector<ColumnRef>{2U, "body"}));
    EXPECT_TRUE(job.input.header);
    EXPECT_TRUE(job.input.allow_empty);
    EXPECT_EQ(job.model.random, 9223372036854775807U);
    EXPECT_EQ(job.output.format, OutputFormat::npy);
    EXPECT_TRUE(job.output.scores);
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

    EXPECT_EQ(job.input.path, "jobs/articles.txt");
    EXPECT_EQ(*job.model.weights, "/models/m.bin");
    EXPECT_EQ(job.output.path, "jobs/sub/x.csv");
    EXPECT_EQ(job.output.report, "jobs/sub/report.json");
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
                  .text.where,
              "job.toml:1:1");
}

struct BadJob {
    const char* name;
    std::string text;
    const char* id;
    const char* where;
    const char* what;
};

std::string with(const std::string& lines) {
    return smallest_job + lines;
}

std::string repeated(const char* part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) {
        text += part;
    }
    return text;
}

const std::vector<BadJob>& bad_jobs() {
    static const std::vector<BadJob> jobs{
        {"Empty", "", "E-CFG-003", "job.toml", "is empty"},
        {"Blank", " \n\t\r\n", "E-CFG-003", "job.toml", "is empty"},
        {"TooLarge", std::string(65'537, '#'), "E-CFG-004", "job.toml", "got 65 KiB, expected at most 64 KiB"},
        {"InvalidUtf8", with("# \xc3\xa9 \xff\n"), "E-CFG-005", "job.toml:5:5", "invalid UTF-8 byte \\xff"},
        {"Utf16",
         std::string("\xff\xfe"
                     "a\0",
                     4),
         "E-CFG-005", "job.toml", "UTF-16"},
        {"Nul", with(std::string("\0", 1)), "E-CFG-005", "job.toml:5:1", "NUL byte"},
        {"NoValue", with("[run]\ndevice\n"), "E-CFG-006", "job.toml:6:7", "expected '='"},
        {"OpenString", with("[run]\ndevice = \"host\n"), "E-CFG-006", "job.toml:6:", ""},
        {"HugeInteger", with("[pipeline]\ndepth = 99999999999999999999\n"), "E-CFG-006", "job.toml:6:", "64 bits"},
        {"DeepKey", with(repeated("a.", 16) + "a = 1\n"), "E-CFG-007", "job.toml:5:32", "more than 16 parts"},
        {"DeepHeader", with("[" + repeated("a . ", 300) + "a]\n"), "E-CFG-007", "job.toml:5:", "16 parts"},
        {"DeepQuotedKey", with(repeated("'a'.", 40) + "a = 1\n"), "E-CFG-007", "job.toml:5:", "16 parts"},
        {"DeepList", with("x = " + repeated("[", 33)), "E-CFG-007", "job.toml:5:37", "more than 32 brackets"},
        {"DeepTable", with("x = " + repeated("{a=", 40)), "E-CFG-007", "job.toml:5:", "32 brackets"},
        {"TwiceAKey", with("[pipeline]\ndepth = 1\ndepth = 2\n"), "E-CFG-008",
         "job.toml:7:", "'depth' is set twice (lines 6, 7)"},
        {"TwiceASection", with("[run]\n[run]\n"), "E-CFG-008", "job.toml:6:1", "'run' is set twice (lines 5, 6)"},
        {"TwiceInsideAList", with("x = [\n{a = 1,\n a = 2}]\n"), "E-CFG-006", "job.toml:6:", ""},
        {"TwiceInsideALaterLine", with("x = [\n{a = 1, a = 2}]\n"), "E-CFG-008", "job.toml:6:", "cannot redefine"},
        {"UnknownKey", with("[pipeline]\nchunk_item = 1\n"), "E-CFG-009", "job.toml:6:1",
         "unknown key 'chunk_item' in [pipeline]; did you mean 'chunk_items'?"},
        {"WrongSection", with("[run]\n depth = 1\n"), "E-CFG-009", "job.toml:6:2",
         "unknown key 'depth' in [run]; did you mean 'pipeline.depth'?"},
        {"WrongSectionMisspelt", with("[run]\nchunk_itmes = 1\n"), "E-CFG-009", "job.toml:6:1",
         "did you mean 'pipeline.chunk_items'?"},
        {"NoSection", with("depth = 1\n"), "E-CFG-009", "job.toml:5:1",
         "unknown key 'depth'; did you mean 'pipeline.depth'?"},
        {"UnknownSection", with("[pipelines]\ndepth = 1\n"), "E-CFG-009", "job.toml:5:2",
         "unknown section 'pipelines'; did you mean 'pipeline'?"},
        {"NothingLikeIt", with("[run]\nzzzzzz = 1\n"), "E-CFG-009", "job.toml:6:1", "unknown key 'zzzzzz' in [run]"},
        {"EscapedKey", with("\"\\u001b[31m\" = 1\n"), "E-CFG-009", "job.toml:5:1", "unknown key '\\x1b[31m'"},
        {"SubTable", with("[run.device]\n"), "E-CFG-010", "job.toml:5:", "run.device: got a table, expected \"auto\""},
        {"SectionIsAValue", with("run = 3\n"), "E-CFG-010", "job.toml:5:1",
         "run: got integer 3, expected a section [run]"},
        {"SectionIsAList", with("[[run]]\n"), "E-CFG-010", "job.toml:5:", "expected a section [run]"},
        {"StringForInteger", with("[pipeline]\ndepth = \"4\"\n"), "E-CFG-010", "job.toml:6:9",
         "pipeline.depth: got string '4', expected an integer 1..1024 or \"auto\""},
        {"FloatForInteger", with("[pipeline]\ndepth = 4.5\n"), "E-CFG-010", "job.toml:6:9", "got float 4.5"},
        {"DateForInteger", with("[pipeline]\ndepth = 2024-01-01\n"), "E-CFG-010", "job.toml:6:9", "got a date or time"},
        {"IntegerForString", with("[run]\ndevice = 1\n"), "E-CFG-010", "job.toml:6:10", "run.device: got integer 1"},
        {"SectionOfADottedKey", with("[output]\nscores = \"yes\"\n"), "E-CFG-008", "job.toml:5:1",
         "'output' is set twice (lines 4, 5)"},
        {"TwiceAsKeyAndSection", with("run.device = \"host\"\nrun = 1\n"), "E-CFG-008",
         "job.toml:6:", "'run' is set twice (lines 5, 6)"},
        {"TwiceInDots", with("run.device = \"host\"\nrun.device.x = 1\n"), "E-CFG-008",
         "job.toml:6:", "cannot redefine"},
        {"StringForBoolean", with("output.scores = \"yes\"\n"), "E-CFG-010", "job.toml:5:17", "got string 'yes'"},
        {"IntegerForBoolean", with("output.scores = 1\n"), "E-CFG-010", "job.toml:5:17", "expected true or false"},
        {"StringForColumns", with("input.columns = \"a\"\n"), "E-CFG-010", "job.toml:5:17",
         "expected a list of column numbers"},
        {"AutoWhereNotAllowed", with("model.random = \"auto\"\n"), "E-CFG-010", "job.toml:5:16", "got string 'auto'"},
        {"Zero", with("pipeline.depth = 0\n"), "E-CFG-011", "job.toml:5:18",
         "pipeline.depth: got 0, expected an integer 1..1024"},
        {"Negative", with("model.random = -1\n"), "E-CFG-011", "job.toml:5:16", "model.random: got -1"},
        {"AboveRange", with("pipeline.chunk_items = 1048577\n"), "E-CFG-011", "job.toml:5:24", "1..1048576"},
        {"ManyDevices", with("run.devices = 1025\n"), "E-CFG-011", "job.toml:5:15", "1..1024"},
        {"WrongChoice", with("pipeline.mode = \"overlpa\"\n"), "E-CFG-011", "job.toml:5:17", "did you mean 'overlap'?"},
        {"WrongCaseOfChoice", with("run.device = \"CUDA\"\n"), "E-CFG-011", "job.toml:5:14", "got 'CUDA'"},
        {"ColumnZero", with("input.columns = [1, 0]\n"), "E-CFG-011", "job.toml:5:21", "input.columns: got 0"},
        {"EmptyColumnName", with("input.columns = [\"\"]\n"), "E-CFG-011", "job.toml:5:18", "empty name"},
        {"ListInColumns", with("input.columns = [[1]]\n"), "E-CFG-010", "job.toml:5:18", "got a list"},
        {"EmptyPath", with("output.report = \"\"\n"), "E-CFG-011", "job.toml:5:17", "got an empty string"},
        {"Nan", with("pipeline.depth = nan\n"), "E-CFG-012", "job.toml:5:18", "pipeline.depth: got float nan"},
        {"Infinity", with("input.columns = [-inf]\n"), "E-CFG-012", "job.toml:5:18", "got float -inf"},
        {"NoApp", "[input]\npath = \"a.txt\"\n", "E-CFG-013", "job.toml", "app is required"},
        {"NoInput", "app = \"gpt2\"\n", "E-CFG-013", "job.toml", "[input].path is required"},
        {"NoModel", "app = \"gpt2\"\ninput.path = \"a.txt\"\n", "E-CFG-013", "job.toml",
         "[model].weights or [model].random is required"},
        {"NoOutput", "app = \"gpt2\"\ninput.path = \"a.txt\"\nmodel.random = 1\n", "E-CFG-013", "job.toml",
         "[output].path is required"},
        {"PathWithNul", with("output.report = \"a\\u0000b\"\n"), "E-CFG-017", "job.toml:5:17", "'a\\x00b'"},
        {"PathWithLineBreak", with("output.report = \"a\\nb\"\n"), "E-CFG-017", "job.toml:5:17", "line breaks"},
        {"UnknownApp", "app = \"clasifier\"\n", "E-CFG-011", "job.toml:1:7",
         "unknown app 'clasifier'; did you mean 'classifier'?"},
        {"TwoModels", with("model.random = 1\n"), "E-CFG-105", "job.toml:5:16", "model.weights is set too"},
        {"HeaderOfText", with("input.header = true\n"), "E-CFG-105", "job.toml:5:16", "only csv has a header"},
        {"ColumnsOfText", with("input.columns = [1]\n"), "E-CFG-105", "job.toml:5:17",
         "only csv and jsonl have columns"},
        {"NamesWithoutHeader", with("input.format = \"csv\"\ninput.columns = [\"a\"]\n"), "E-CFG-105", "job.toml:6:17",
         "input.header is false"},
        {"DepthOfSerial", with("pipeline.depth = 2\npipeline.mode = \"serial\"\n"), "E-CFG-105", "job.toml:5:18",
         "got 2 in serial mode, expected 1 or \"auto\""},
        {"JsonlByNumber", with("input.format = \"jsonl\"\ninput.columns = [1]\n"), "E-CFG-105", "job.toml:6:17",
         "expected names for jsonl"},
        {"JsonlWithoutColumns", with("input.format = \"jsonl\"\n"), "E-CFG-013", "job.toml",
         "[input].columns is required"},
    };
    return jobs;
}

class RefusesAJob : public testing::TestWithParam<BadJob> {};

TEST_P(RefusesAJob, WithItsPlaceAndReason) {
    const BadJob& job = GetParam();

    const Refused refused = refusal(job.text);

    EXPECT_EQ(refused.code, ExitCode::configuration);
    EXPECT_EQ(refused.text.id, job.id);
    EXPECT_TRUE(refused.text.where.starts_with(job.where)) << refused.text.where;
    EXPECT_NE(refused.text.what.find(job.what), std::string::npos) << refused.text.what;
}

INSTANTIATE_TEST_SUITE_P(Config, RefusesAJob, testing::ValuesIn(bad_jobs()),
                         [](const auto& entry) { return std::string(entry.param.name); });

TEST(Config, NamesTheExtensionsItKnows) {
    const Refused input = refusal(smallest_job, {set("input.path=articles.tsv")});
    const Refused output = refusal(smallest_job, {set("output.path=labels")});

    EXPECT_EQ(input.text.id, "E-CFG-011");
    EXPECT_EQ(input.text.what,
              "input.path: got extension '.tsv', expected an extension .csv .jsonl .txt .npy .bin .u8");
    EXPECT_EQ(input.text.hint, "set input.format");
    EXPECT_EQ(output.text.what, "output.path: got no extension, expected an extension .csv .jsonl .npy");
}

TEST(Config, NeverReplacesAFileThatTheJobReads) {
    const auto code = [](std::vector<Override> changes) { return refusal(smallest_job, changes); };

    EXPECT_EQ(code({set("input.path=x/../labels.csv")}).code, ExitCode::refused);
    EXPECT_EQ(code({set("model.weights=./labels.csv")}).text.id, "E-SEC-019");
    EXPECT_EQ(code({set("output.report=labels.csv")}).code, ExitCode::refused);
    EXPECT_EQ(code({set("output.report=articles.txt")}).code, ExitCode::refused);
}

TEST(Config, SeesThroughLinksToAFileThatTheJobReads) {
    const Folder folder;
    (void)folder.write("articles.txt", "a\n");
    std::filesystem::create_hard_link(folder.path() / "articles.txt", folder.path() / "labels.csv");
    const auto job = folder.write("job.toml", smallest_job);

    EXPECT_EQ(refusal_of([&] { return read_job(job, {}, apps); }).code, ExitCode::refused);
}

TEST(Config, RefusesAFolderThatAJobFileCannotName) {
    EXPECT_EQ(refusal_of([] { return parse(smallest_job, {}, "caf\xe9"); }).text.id, "E-CFG-005");
}

TEST(Config, NeverReplacesTheJobFile) {
    const Folder folder;
    const auto job = folder.write("job.toml", smallest_job + "output.report = \"job.toml\"\n");

    EXPECT_EQ(refusal_of([&] { return read_job(job, {}, apps); }).text.id, "E-SEC-019");
}

TEST(Overrides, SetAnyKey) {
    for (const KeySpec& key : job_keys()) {
        const bool columns = key.type == KeyType::columns;
        const std::string value = columns                            ? "[]"
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
    EXPECT_EQ(job.input.path, "2024.txt");
    EXPECT_EQ(job.run.device, DeviceKind::host);
    EXPECT_EQ(job.output.path, "a b.csv");
    EXPECT_EQ(job.pipeline.depth, std::nullopt);
    EXPECT_EQ(job.output.report, "a=b");
}

TEST(Overrides, WinOverTheFileAndTheLastOneWins) {
    const std::string text = smallest_job + "pipeline.depth = 2\n";

    EXPECT_EQ(parse(text, {set("pipeline.depth=3"), set("pipeline.depth=4")}).pipeline.depth, 4U);
}

TEST(Overrides, ReplaceWeightsByRandomOnesAndBack) {
    const JobConfig random = parse(smallest_job, {set("model.random=17")});
    const JobConfig both_changed = parse(smallest_job, {set("model.weights=b.bin")});

    EXPECT_EQ(random.model, (JobConfig::Model{std::nullopt, 17U}));
    EXPECT_EQ(both_changed.model.weights, "b.bin");
    EXPECT_EQ(refusal(smallest_job, {set("model.weights=b.bin"), set("model.random=1")}).text.id, "E-CFG-105");
}

TEST(Overrides, AreNamedInMessages) {
    const Refused type = refusal(smallest_job, {set("pipeline.depth=x")});
    const Refused range = refusal(smallest_job, {set("pipeline.depth=0")});
    const Refused unknown = refusal(smallest_job, {set("pipline.depth=1")});
    const Refused section = refusal(smallest_job, {set("run.depth=1")});

    EXPECT_EQ(type.code, ExitCode::configuration);
    EXPECT_EQ(type.text.where, "--set pipeline.depth=x");
    EXPECT_EQ(type.text.what, "pipeline.depth: got 'x', expected an integer 1..1024 or \"auto\"");
    EXPECT_EQ(range.text.id, "E-CFG-011");
    EXPECT_EQ(unknown.text.what, "unknown key 'pipline.depth'; did you mean 'pipeline.depth'?");
    EXPECT_EQ(section.text.what, "unknown key 'run.depth'; did you mean 'pipeline.depth'?");
}

TEST(Overrides, CannotSmuggleASecondKey) {
    const Refused refused = refusal(smallest_job, {{"pipeline.depth", "4\nother = 1"}});

    EXPECT_EQ(refused.text.id, "E-CFG-010");
    EXPECT_EQ(refusal(smallest_job, {{"output.report", "a\nb"}}).text.id, "E-CFG-017");
    EXPECT_EQ(refusal(smallest_job, {{"pipeline.depth", repeated("[", 10'000)}}).text.id, "E-CFG-007");
    EXPECT_EQ(refusal(smallest_job, {{"input.path", "\xff.txt"}}).text.id, "E-CFG-005");
}

TEST(Overrides, NeedAnEqualsSign) {
    for (const char* text : {"", "=", "=4", " = 4", "pipeline.depth"}) {
        EXPECT_EQ(refusal_of([&] { return parse_override(text); }).code, ExitCode::usage) << text;
    }
    EXPECT_EQ(parse_override("a.b=").value, "");
}

TEST(JobFile, IsReadFromDisk) {
    const Folder folder;

    const JobConfig job = read_job(folder.write("job.toml", smallest_job), {}, apps);

    EXPECT_EQ(job.input.path, folder.path() / "articles.txt");
}

TEST(JobFile, ThatCannotBeReadIsNamed) {
    const Folder folder;
    const auto fifo = folder.path() / "fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    const auto refused = [](const std::filesystem::path& file) {
        return refusal_of([&] { return read_job(file, {}, apps); });
    };

    EXPECT_EQ(refused(folder.path() / "none.toml").text.id, "E-CFG-001");
    EXPECT_EQ(refused(folder.path() / "none.toml").code, ExitCode::no_input);
    EXPECT_NE(refused(folder.path() / "none.toml").text.where.find("none.toml"), std::string::npos);
    EXPECT_EQ(refused(folder.path()).text.id, "E-CFG-002");
    EXPECT_EQ(refused(fifo).text.id, "E-CFG-002");
    EXPECT_EQ(refused("/dev/null").text.id, "E-CFG-002");
    EXPECT_EQ(refused(folder.write("big.toml", std::string(largest_job_file + 1, '#'))).text.id, "E-CFG-004");
    EXPECT_EQ(refused(folder.write("most.toml", std::string(largest_job_file, '#'))).text.id, "E-CFG-013");
}

JobConfig random_job(std::mt19937_64& random) {
    const auto below = [&](std::uint64_t end) { return random() % end; };
    const auto word = [&](const std::string& extension) {
        static const std::vector<std::string> pieces{"a", "\"", "\\",   "'",    " ", "=",  "#",
                                                     "[", "é",  "\x01", "\x7f", "💧", "..", "/"};
        std::string text = "w";
        for (std::uint64_t i = below(12); i > 0; --i) {
            text += pieces[below(pieces.size())];
        }
        return text + "z" + extension;
    };
    JobConfig job;
    job.app = apps[below(apps.size())];
    job.input.path = word("in");
    job.input.format = InputFormat(below(6));
    if (job.input.format == InputFormat::csv) {
        job.input.header = below(2) == 1;
        for (std::uint64_t i = below(4); i > 0; --i) {
            job.input.columns.emplace_back(static_cast<std::uint32_t>(1 + below(1'000'000)));
        }
        if (job.input.header) {
            job.input.columns.emplace_back(word(""));
        }
    } else if (job.input.format == InputFormat::jsonl) {
        job.input.columns.emplace_back(word(""));
    }
    job.input.allow_empty = below(2) == 1;
    if (below(2) == 1) {
        job.model.weights = word("weights");
    } else {
        job.model.random = random() >> (1 + below(63));
    }
    job.output.format = OutputFormat(below(3));
    job.output.path = word(std::array{".csv", ".jsonl", ".npy"}[std::size_t(job.output.format)]);
    job.output.scores = below(2) == 1;
    job.output.report = word("report");
    const auto maybe = [&](std::uint64_t most) {
        return below(2) == 1 ? std::nullopt : std::optional(static_cast<std::uint32_t>(1 + below(most)));
    };
    job.run = {DeviceKind(below(3)), Precision(below(3)), maybe(1024)};
    job.pipeline = {PipelineMode(below(2)), Distribution(below(2)), maybe(1'048'576), maybe(1024)};
    if (job.pipeline.mode == PipelineMode::serial && job.pipeline.depth) {
        job.pipeline.depth = 1;
    }
    return job;
}

TEST(ToToml, ReadsBackToTheSameJob) {
    std::mt19937_64 random(20261120);

    for (int i = 0; i < 2'000; ++i) {
        const JobConfig job = random_job(random);
        const std::string text = to_toml(job);
        ASSERT_EQ(parse(text), job) << text;
    }
}

TEST(Config, SurvivesEveryTruncationAndAnyByte) {
    std::mt19937_64 random(1);
    const std::string whole = to_toml(random_job(random));

    const auto survives = [](const std::string& text) {
        try {
            (void)parse(text);
        } catch (const Error& error) {
            EXPECT_FALSE(error.text().id.empty());
        }
    };

    for (std::size_t size = 0; size < whole.size(); ++size) {
        survives(whole.substr(0, size));
    }
    for (int i = 0; i < 5'000; ++i) {
        std::string text = whole;
        for (int changes = 0; changes < 3; ++changes) {
            text[random() % text.size()] = static_cast<char>(random());
        }
        survives(text);
    }
}

TEST(Config, RefusesHostileTextOfFullSize) {
    const std::array hostile{repeated("a.", 32'000),    "[" + repeated("a.", 32'000), repeated("[", 65'000),
                             repeated("{", 65'000),     repeated("x=[{", 16'000),     repeated("\"", 65'000),
                             repeated("'''", 21'000),   repeated("[a]\n", 16'000),    std::string(65'000, 'A'),
                             repeated("a=1\n", 16'000), repeated("\"a\" . ", 10'000)};

    for (const std::string& text : hostile) {
        EXPECT_EQ(refusal(text).code, ExitCode::configuration) << text.substr(0, 20);
    }
}

TEST(JobFileReference, NamesEveryKeyWithWhatItTakesAndItsDefault) {
    std::ifstream file(SLUICE_SOURCE_DIR "/docs/job-file.md");
    std::stringstream reference;
    reference << file.rdbuf();
    const std::string text = reference.str();

    for (const KeySpec& key : job_keys()) {
        const std::string heading = "### `" + key.full_name() + "`";
        const std::size_t begin = text.find(heading);
        ASSERT_NE(begin, std::string::npos) << heading;
        const std::string entry = text.substr(begin, text.find("\n#", begin + 1) - begin);
        EXPECT_NE(entry.find("- takes: " + key.expected() + "\n"), std::string::npos) << entry;
        const std::string fallback = key.required           ? "required"
                                     : key.fallback.empty() ? "none"
                                                            : std::string(key.fallback);
        EXPECT_NE(entry.find("- default: " + fallback + "\n"), std::string::npos) << entry;
    }
}

TEST(DescribeKeys, ListsEveryKey) {
    const std::string text = describe_keys();

    for (const KeySpec& key : job_keys()) {
        EXPECT_NE(text.find("  " + std::string(key.name) + " "), std::string::npos) << key.name;
        EXPECT_NE(text.find(key.help), std::string::npos) << key.name;
    }
}

}  // namespace
}  // namespace sluice
