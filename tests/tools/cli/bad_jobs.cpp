#include "tests/tools/cli/bad_input.hpp"

namespace sluice::test {
namespace {

BadInput job(std::string name, std::string text, std::string id, std::string where, std::string what) {
    return {std::move(name), std::move(text), {}, {}, 78, std::move(id), std::move(where), std::move(what)};
}

BadInput set(std::string name, std::string change, int exit_code, std::string id, std::string where, std::string what) {
    return {std::move(name),  good_job,       {}, {"--set", std::move(change)}, exit_code, std::move(id),
            std::move(where), std::move(what)};
}

}  // namespace

const std::string good_job =
    "app = \"classifier\"\n"
    "input.path = \"articles.txt\"\n"
    "model.random = 1\n"
    "output.path = \"labels.csv\"\n";

std::string repeated(std::string_view part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) {
        text += part;
    }
    return text;
}

std::vector<BadInput> bad_jobs() {
    return {
        job("EmptyJob", "", "E-CFG-003", "job.toml", "is empty"),
        job("LargeJob", good_job + std::string(65'536, '#'), "E-CFG-004", "job.toml", "got 65 KiB"),
        job("JobNotUtf8", good_job + "# \xff\n", "E-CFG-005", "job.toml:5:3", "invalid UTF-8 byte \\xff"),
        job("JobWithNul", good_job + std::string("\0\n", 2), "E-CFG-005", "job.toml:5:1", "NUL byte"),
        job("JobInUtf16",
            "\xff\xfe"
            "a",
            "E-CFG-005", "job.toml", "UTF-16"),
        job("Syntax", good_job + "[run\n", "E-CFG-006", "job.toml:5:5", "]"),
        job("DeepKey", good_job + repeated("a.", 30'000) + "a=1", "E-CFG-007", "job.toml:5:", "more than 16 parts"),
        job("DeepList", good_job + "a=" + repeated("[", 60'000), "E-CFG-007", "job.toml:5:", "more than 32 brackets"),
        job("KeyTwice", good_job + "model.random = 2\n", "E-CFG-008", "job.toml:5:", "redefine"),
        job("SectionKeyTwice", good_job + "[run]\ndevices = 1\ndevices = 2\n", "E-CFG-008",
            "job.toml:7:", "'devices' is set twice (lines 6, 7)"),
        job("UnknownKey", good_job + "[pipeline]\nchunk_item = 1\n", "E-CFG-009", "job.toml:6:1",
            "unknown key 'chunk_item' in [pipeline]; did you mean 'chunk_items'?"),
        job("KeyOfAnotherSection", good_job + "[run]\ndepth = 1\n", "E-CFG-009", "job.toml:6:1",
            "did you mean 'pipeline.depth'?"),
        job("HostileKey", good_job + "\"\\u001b[2J\" = 1\n", "E-CFG-009", "job.toml:5:1", "'\\x1b[2J'"),
        job("UnknownSection", good_job + "[pipelines]\n", "E-CFG-009", "job.toml:5:", "did you mean 'pipeline'?"),
        job("WrongType", good_job + "pipeline.depth = \"4\"\n", "E-CFG-010", "job.toml:5:18", "got string '4'"),
        job("OutOfRange", good_job + "pipeline.depth = 0\n", "E-CFG-011", "job.toml:5:18",
            "expected an integer 1..1024"),
        job("PrecisionThatTheHostHasNot", good_job + "run.device = \"host\"\nrun.precision = \"fp16\"\n", "E-CFG-105",
            "run.precision", "the host computes in fp32 and bf16 only"),
        job("PrecisionThatTheAppHasNot", good_job + "run.precision = \"fp8\"\n", "E-CFG-105", "run.precision",
            "got \"fp8\", in which classifier does not compute"),
        job("OtherPrecisionThatTheAppHasNot", good_job + "run.precision = \"fp16x2\"\n", "E-CFG-105", "run.precision",
            "got \"fp16x2\", in which classifier does not compute"),
        job("UnknownPrecision", good_job + "run.precision = \"fp4\"\n", "E-CFG-011", "job.toml:5:17",
            "expected \"fp32\", \"tf32x3\", \"tf32\", \"bf16\", \"fp16\", \"certified\", \"fp8\", \"fp16x2\""),
        job("UnknownChoice", good_job + "run.device = \"gpu\"\n", "E-CFG-011", "job.toml:5:14",
            "\"auto\", \"host\", \"cuda\""),
        job("UnknownApp", "app = \"classifer\"\n", "E-CFG-011", "job.toml:1:7", "did you mean 'classifier'?"),
        job("NotANumber", good_job + "pipeline.depth = nan\n", "E-CFG-012", "job.toml:5:18", "got float nan"),
        job("NoInputPath", "app = \"classifier\"\n", "E-CFG-013", "job.toml", "[input].path is required"),
        job("CountWithoutTexts", "app = \"classifier\"\ninput.count = 3\nmodel.random = 1\noutput.path = \"a.csv\"\n",
            "E-CFG-013", "input.path", "reads a text for each item"),
        job("NoModel", "app = \"classifier\"\ninput.path = \"a.txt\"\n", "E-CFG-013", "job.toml", "[model].weights or"),
        job("NulInPath", good_job + "output.report = \"a\\u0000\"\n", "E-CFG-017", "job.toml:5:17", "NUL"),
        job("TwoModels", good_job + "model.weights = \"m.bin\"\n", "E-CFG-105", "job.toml:3:16", "one of the two"),
        job("ColumnsOfText", good_job + "input.columns = [1]\n", "E-CFG-105", "job.toml:5:17", "txt"),
        job("DepthOfSerial", good_job + "pipeline.mode = \"serial\"\npipeline.depth = 2\n", "E-CFG-105",
            "job.toml:6:18", "got 2 in serial mode"),
        {"MoreChunksThanATraceHolds",
         good_job + "input.count = 1099511627776\npipeline.chunk_items = 1\n",
         {},
         {},
         71,
         "E-MEM-068",
         "trace",
         "entries"},
        set("OverrideType", "pipeline.depth=x", 78, "E-CFG-010", "--set pipeline.depth=x", "got 'x'"),
        set("OverrideRange", "pipeline.depth=1025", 78, "E-CFG-011", "--set pipeline.depth=1025", "got 1025"),
        set("OverrideKey", "pipeline.dept=1", 78, "E-CFG-009", "--set pipeline.dept=1",
            "did you mean 'pipeline.depth'?"),
        set("OverrideWithLineBreak", "pipeline.depth=1\nx=2", 78, "E-CFG-010", "--set pipeline.depth=1\\x0ax=2",
            "more"),
        set("UnknownExtension", "input.path=articles.tsv", 78, "E-CFG-011", "--set", ".csv .jsonl .txt .npy .bin .u8"),
        set("OverrideWithoutValue", "pipeline.depth", 64, "E-USE-098", "--set pipeline.depth", "expected KEY=VALUE"),
        {"UnknownOption", good_job, {}, {"--ste", "a=b"}, 64, "E-USE-098", "sluice ", "did you mean '--set'?"},
        {"TwoJobs", good_job, {}, {"other.toml"}, 64, "E-USE-098", "sluice ", "unexpected argument 'other.toml'"},
    };
}

std::vector<BadInput> bad_outputs() {
    return {
        set("OutputIsTheText", "output.path=./articles.txt", 77, "E-SEC-019", "--set output.path=./articles.txt",
            "also input.path"),
        set("LabelsAsText", "output.path=labels.txt", 78, "E-OUT-027", "output.format",
            "got \"txt\", but the results are not one text an item"),
        {"OutputIsTheInput",
         good_job,
         {{"a.csv", "x\n"}},
         {"--set", "input.path=a.csv", "--set", "output.path=./a.csv"},
         77,
         "E-SEC-019",
         "--set output.path=./a.csv",
         "also input.path"},
        {"OutputIsTheWeights",
         good_job,
         {{"w.npy", "x\n"}},
         {"--set", "model.weights=w.npy", "--set", "output.path=w.npy"},
         77,
         "E-SEC-019",
         "--set output.path=w.npy",
         "also model.weights"},
        set("ReportIsTheOutput", "output.report=labels.csv", 77, "E-SEC-019", "--set output.report",
            "also output.path"),
        set("ReportIsTheJob", "output.report=job.toml", 77, "E-SEC-019", "--set output.report", "also the job file"),
        set("NoOutputFolder", "output.path=none/labels.csv", 73, "E-OUT-021", "none/labels.csv", "No such file"),
        set("OutputFolderIsAFile", "output.path=articles.txt/labels.csv", 73, "E-OUT-021", "articles.txt/labels.csv",
            "Not a directory"),
        {"OutputIsAFolder",
         good_job,
         {{"there.csv/inside", ""}},
         {"--set", "output.path=there.csv"},
         73,
         "E-OUT-021",
         "there.csv",
         "folder"},
        set("OutputNameTooLong", "output.path=" + std::string(300, 'o') + ".csv", 73, "E-OUT-021", "ooo", "too long"),
        set("OutputInProc", "output.path=/proc/labels.csv", 73, "E-OUT-021", "/proc/labels.csv", "cannot create"),
        set("NoReportFolder", "output.report=none/report.json", 73, "E-OUT-021", "none/report.json", "No such file"),
        {"ReportIsAFolder",
         good_job,
         {{"there.json/inside", ""}},
         {"--set", "output.report=there.json"},
         73,
         "E-OUT-021",
         "there.json",
         "folder"},
    };
}

}  // namespace sluice::test
