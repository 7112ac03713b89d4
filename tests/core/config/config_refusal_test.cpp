#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/core/config/config_jobs.hpp"

namespace sluice {
namespace {

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
        {"DeepListBehindAString", with("x = [\"\\\\\", " + repeated("[", 33)), "E-CFG-007",
         "job.toml:5:", "more than 32 brackets"},
        {"DeepTable", with("x = " + repeated("{a=", 40)), "E-CFG-007", "job.toml:5:", "32 brackets"},
        {"TwiceAKey", with("[pipeline]\ndepth = 1\ndepth = 2\n"), "E-CFG-008",
         "job.toml:7:", "'depth' is set twice (lines 6, 7)"},
        {"TwiceASection", with("[run]\n[run]\n"), "E-CFG-008", "job.toml:6:1", "'run' is set twice (lines 5, 6)"},
        {"TwiceInsideAList", with("x = [\n{a = 1,\n a = 2}]\n"), "E-CFG-006", "job.toml:6:", ""},
        {"TwiceInsideALaterLine", with("x = [\n{a = 1, a = 2}]\n"), "E-CFG-008", "job.toml:6:", "cannot redefine"},
        {"UnknownKeyOfASubSection", with("[slurm.resume]\nmod = 1\n"), "E-CFG-009", "job.toml:6:1",
         "unknown key 'mod' in [slurm.resume]; did you mean 'mode'?"},
        {"SubSectionIsAValue", with("[slurm]\nresume = 1\n"), "E-CFG-010", "job.toml:6:1",
         "slurm.resume: got integer 1, expected a section [slurm.resume]"},
        {"SubSectionInQuotes", with("[\"slurm.resume\"]\nmax = 1\n"), "E-CFG-010",
         "job.toml:5:", "got a table, expected a section"},
        {"SubSectionOfASubSection", with("[slurm.resume.mode]\n"), "E-CFG-010", "job.toml:5:", "got a table"},
        {"BadTime", with("slurm.time = \"04:00\"\n"), "E-CFG-015", "job.toml:5:14",
         "slurm.time: got '04:00', expected a time as in \"04:00:00\""},
        {"TomlTime", with("slurm.time = 04:00:00\n"), "E-CFG-010", "job.toml:5:14", "got a date or time"},
        {"NoTime", with("slurm.time = \"0s\"\n"), "E-CFG-015", "job.toml:5:14", "expected a time limit"},
        {"LongNotice", with("slurm.resume.notice = \"1d\"\n"), "E-CFG-011", "job.toml:5:23", "expected 1..65535 s"},
        {"NoticeOfAnotherWord", with("slurm.resume.notice = \"soon\"\n"), "E-CFG-015", "job.toml:5:23", "or \"auto\""},
        {"NameWithASpace", with("slurm.partition = \"a b\"\n"), "E-CFG-016", "job.toml:5:19",
         "slurm.partition: got 'a b', expected at most 64 characters of A-Z a-z 0-9 . _ - ,"},
        {"EmptyName", with("slurm.job_name = \"\"\n"), "E-CFG-016", "job.toml:5:18", "got an empty name"},
        {"LongName", with("slurm.job_name = \"" + repeated("a", 65) + "\"\n"), "E-CFG-016", "job.toml:5:18",
         "at most 64"},
        {"BadMemory", with("slurm.mem = \"12GB\"\n"), "E-CFG-016", "job.toml:5:13", "expected \"site\""},
        {"MemoryWithoutAUnit", with("slurm.mem = \"480\"\n"), "E-CFG-016", "job.toml:5:13", "a size as in \"480G\""},
        {"NoMemory", with("slurm.mem = \"0G\"\n"), "E-CFG-016", "job.toml:5:13", "\"0\" or a size"},
        {"UnknownOptionToSkip", with("slurm.skip = [\"exclusiv\"]\n"), "E-CFG-011", "job.toml:5:15",
         "did you mean 'exclusive'?"},
        {"OptionThatWeSet", with("slurm.extra = [\"--out=x\"]\n"), "E-CFG-016", "job.toml:5:15", "does not set itself"},
        {"WordOfSbatchForVariables", with("slurm.environment = [\"ALL\"]\n"), "E-CFG-011", "job.toml:5:21",
         "got 'ALL', a word of sbatch's --export"},
        {"WordOfSbatchForNoVariables", with("slurm.environment = [\"UCX_TLS\", \"none\"]\n"), "E-CFG-011",
         "job.toml:5:21", "got 'none', a word"},
        {"VariableOfSlurm", with("slurm.environment = [\"SLURM_CONF\"]\n"), "E-CFG-011", "job.toml:5:21",
         "neither Slurm's"},
        {"NoVariable", with("slurm.environment = [\"A=b\"]\n"), "E-CFG-011", "job.toml:5:21", "environment variable"},
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
        {"ColumnBeyondARecord", with("input.columns = [65537]\n"), "E-CFG-011", "job.toml:5:18", "1..65536"},
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
        {"CountOfBinary", with("input.format = \"npy\"\ninput.count = 2\n"), "E-CFG-105", "job.toml:6:15",
         "got a count for npy input"},
        {"CountOfNothing", with("input.count = 0\n"), "E-CFG-105", "job.toml:5:15", "input.allow_empty is false"},
        {"CountBeyondAll", with("input.count = 1099511627777\n"), "E-CFG-011", "job.toml:5:15", "0..1099511627776"},
        {"HeaderWithoutAFile", "app = \"gpt2\"\ninput.count = 2\ninput.header = true\n", "E-CFG-105", "job.toml:3:16",
         "is set without input.path"},
        {"IndexWithoutAFile", "app = \"gpt2\"\ninput.count = 2\ninput.index = \"first\"\n", "E-CFG-105",
         "job.toml:3:15", "is set without input.path"},
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

    const Error refused = refusal(job.text);

    EXPECT_EQ(refused.code(), ExitCode::configuration);
    EXPECT_EQ(refused.text().id, job.id);
    EXPECT_TRUE(refused.text().where.starts_with(job.where)) << refused.text().where;
    EXPECT_NE(refused.text().what.find(job.what), std::string::npos) << refused.text().what;
}

INSTANTIATE_TEST_SUITE_P(Config, RefusesAJob, testing::ValuesIn(bad_jobs()),
                         [](const auto& entry) { return std::string(entry.param.name); });

TEST(Config, SaysThatAJobWithoutAnInputMayCountItsItems) {
    EXPECT_NE(refusal("app = \"namegen\"\n").text().hint.find("input.count"), std::string::npos);
}

TEST(Config, SaysWhatToDoWithAFileOfAnotherFormat) {
    const auto hint = [](const char* change) { return refusal(smallest_job, {set(change)}).text().hint; };

    EXPECT_EQ(hint("input.path=articles.csv.gz"), "unpack it first: input is read as it is");
    EXPECT_EQ(hint("input.path=articles.PARQUET"), "convert it first, to .csv, .jsonl or .npy");
    EXPECT_EQ(hint("output.path=labels.csv.gz"), "choose one of those: nothing else is written");
    EXPECT_EQ(hint("output.path=labels.dat"), "set output.format");
}

TEST(Config, ShowsTheBracketsThatAListLacks) {
    const auto hint = [](const char* change) { return refusal(smallest_job, {set(change)}).text().hint; };

    EXPECT_EQ(hint("input.columns=2,3"), "a list stands in brackets: [2, 3] or [\"title\", \"body\"]");
    EXPECT_EQ(hint("input.columns=title"), "a list stands in brackets: [2, 3] or [\"title\", \"body\"]");
    EXPECT_EQ(hint("slurm.skip=comment"), "a list stands in brackets, its strings in quotes: [\"one\", \"two\"]");
    EXPECT_EQ(hint("slurm.skip=[\"coment\"]"), "") << "a list";
}

TEST(Config, ShowsTheQuotesThatAStringLacks) {
    const auto hint = [](const char* line) { return refusal(smallest_job + line).text().hint; };

    EXPECT_EQ(hint("output.report=bom.txt"), "a string stands in quotes: output.report = \"bom.txt\"");
    EXPECT_EQ(hint("[run]\n  device = host \r\n"), "a string stands in quotes: device = \"host\"");
    EXPECT_EQ(hint("output.report = ../true.json\n"), "a string stands in quotes: output.report = \"../true.json\"");
    EXPECT_EQ(hint("input.columns = [title, text]\n"), "a string stands in quotes");
    for (const char* const other : {"[pipeline]\ndepth = 99999999999999999999\n", "[run]\ndevice = \"host\n",
                                    "[run]\ndevice\n", "[run]\ndevice =\n", "[run"}) {
        EXPECT_EQ(hint(other), "") << other;
    }
}

TEST(Config, RefusesAnOutputWithTheNameOfARunsFolder) {
    for (const char* path : {"output.path=x.csv.sluice/", "output.path=x.csv.sluice", "output.path=x.csv.sluice/y.csv",
                             "output.path=x/.sluice/"}) {
        const Error refused = refusal(smallest_job, {set(path), set("output.format=csv")});

        EXPECT_EQ(refused.text().id, "E-CFG-011") << path;
        EXPECT_NE(refused.text().what.find("ends in .sluice"), std::string::npos) << refused.text().what;
    }
}

TEST(Config, NamesTheExtensionsItKnows) {
    const Error input = refusal(smallest_job, {set("input.path=articles.dat")});
    const Error output = refusal(smallest_job, {set("output.path=labels")});

    EXPECT_EQ(input.text().id, "E-CFG-011");
    EXPECT_EQ(input.text().what,
              "input.path: got extension '.dat', expected an extension .csv .jsonl .txt .npy .bin .u8");
    EXPECT_EQ(input.text().hint, "set input.format");
    EXPECT_EQ(refusal(smallest_job, {set("input.path=parts/")}).text().hint,
              "set input.format, or name the files of a folder, as in \"parts/*.csv\"");
    EXPECT_EQ(output.text().what, "output.path: got no extension, expected an extension .csv .jsonl .npy .txt");
}

TEST(Config, NeverReplacesAFileThatTheJobReads) {
    const auto refused = [](std::vector<Override> changes) { return refusal(smallest_job, changes); };

    EXPECT_EQ(refused({set("input.path=x/../labels.csv")}).code(), ExitCode::refused);
    EXPECT_EQ(refused({set("model.weights=./labels.csv")}).text().id, "E-SEC-019");
    EXPECT_EQ(refused({set("output.report=labels.csv")}).code(), ExitCode::refused);
    EXPECT_EQ(refused({set("output.report=articles.txt")}).code(), ExitCode::refused);
}

TEST(Config, SeesThroughLinksToAFileThatTheJobReads) {
    const Folder folder;
    (void)folder.write("articles.txt", "a\n");
    std::filesystem::create_hard_link(folder.path() / "articles.txt", folder.path() / "labels.csv");
    const auto job = folder.write("job.toml", smallest_job);

    EXPECT_EQ(test::error_of([&] { return read_job(job, {}, apps); }).code(), ExitCode::refused);
}

TEST(Config, RefusesAFolderThatAJobFileCannotName) {
    EXPECT_EQ(test::error_of([] { return parse(smallest_job, {}, "caf\xe9"); }).text().id, "E-CFG-005");
    for (const char* const folder : {"line\nbreak", "carriage/re\rturn"}) {
        EXPECT_EQ(test::error_of([&] { return parse(smallest_job, {}, folder); }).text().id, "E-CFG-017") << folder;
    }
}

TEST(Config, NeverReplacesTheJobFile) {
    const Folder folder;
    const auto job = folder.write("job.toml", smallest_job + "output.report = \"job.toml\"\n");

    EXPECT_EQ(test::error_of([&] { return read_job(job, {}, apps); }).text().id, "E-SEC-019");
}

}  // namespace
}  // namespace sluice
