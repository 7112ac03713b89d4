#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/commit/run_identity.hpp"
#include "tests/e2e/changed_output.hpp"
#include "tests/e2e/early_end.hpp"
#include "tests/e2e/echo_job.hpp"
#include "tests/support/terminal.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t recompute_items = 61;  // 7 chunks of 8 items, and a short one

ProcessResult verify(const JobFolder& job, const std::vector<std::string>& more,
                     const std::string& name = "labels.csv") {
    return run_sluice(job, joined({"verify", name}, more));
}

json verify_json(const JobFolder& job, const std::vector<std::string>& more) {
    return json::parse(verify(job, joined({"--json"}, more)).out);
}

struct WrittenAs {
    std::string path;
    std::string format;
};

class RecomputeFormats : public testing::TestWithParam<WrittenAs> {};

TEST_P(RecomputeFormats, FindsAnOutputAsItWas) {
    const JobFolder job(recompute_items);
    const auto& [path, format] = GetParam();
    const auto settings = set({"output.path=" + path, "output.format=" + format});
    EXPECT_EQ(job.run_alone(joined(small_chunks, settings)).exit_code, 0);

    const ProcessResult some = verify(job, {"--recompute", "10"}, path);
    const ProcessResult all = verify(job, {"--recompute", "18446744073709551615", "--seed", "17"}, path);

    EXPECT_EQ(some.exit_code, 0) << some.err;
    EXPECT_THAT(some.out,
                AllOf(HasSubstr(": intact: 61 items"), HasSubstr("; 10 items computed again: all the same (seed ")));
    EXPECT_EQ(all.exit_code, 0) << all.err;
    EXPECT_THAT(all.out, HasSubstr("; 61 items computed again: all the same (seed 17)\n"));
}

INSTANTIATE_TEST_SUITE_P(All, RecomputeFormats,
                         testing::Values(WrittenAs{"labels.csv", "csv"}, WrittenAs{"labels.jsonl", "jsonl"},
                                         WrittenAs{"labels.npy", "npy"}, WrittenAs{"labels/", "csv"},
                                         WrittenAs{"arrays/", "npy"}),
                         [](const auto& row) {
                             return row.param.format + (row.param.path.ends_with('/') ? "Folder" : "File");
                         });

/// `csv` with another value in the last column of row `item`.
std::string with_another_score(const std::string& csv, std::size_t item) {
    std::size_t end = csv.find('\n');
    for (std::size_t row = 0; row <= item; ++row) {
        end = csv.find('\n', end + 1);
    }
    const std::size_t value = csv.rfind(',', end) + 1;
    return csv.substr(0, value) + "0.125" + csv.substr(end);
}

TEST(Recompute, FindsTheOneRowThatIsWrong) {
    for (const std::size_t wrong : {0U, 17U, 60U}) {
        const JobFolder job(recompute_items);
        EXPECT_EQ(job.run_alone(small_chunks).exit_code, 0);
        change_output(job.path() / "labels.csv", with_another_score(contents(job.path() / "labels.csv"), wrong));

        const ProcessResult plain = verify(job, {});
        const ProcessResult found = verify(job, {"--recompute", "1000", "--seed", "5"});
        const json as_json = verify_json(job, {"--recompute", "1000", "--seed", "5"});

        EXPECT_EQ(plain.exit_code, 0) << plain.err;
        const std::string item = "item " + std::to_string(wrong);
        EXPECT_EQ(found.exit_code, 84);
        EXPECT_THAT(found.out, AllOf(HasSubstr("; 61 items computed again: 1 now different (seed 5)\n"),
                                     HasSubstr(item + ": the output has "), HasSubstr("0.125', and now it is ")));
        EXPECT_THAT(found.err, AllOf(HasSubstr("E-CKP-194]: "), HasSubstr("1 of 61 items "), HasSubstr(item + "\n")));
        EXPECT_EQ(as_json.at("intact"), true);
        EXPECT_EQ(as_json.at("recomputed"), recompute_items);
        EXPECT_EQ(as_json.at("differ"), 1);
        EXPECT_EQ(as_json.at("seed"), 5);
        EXPECT_EQ(as_json.at("different"), json::array({wrong}));
    }
}

/// Rows that are missing or too many are no rows of other items.
TEST(Recompute, FindsRowsThatAreMissingOrTooMany) {
    const JobFolder job(recompute_items);
    EXPECT_EQ(job.run_alone(small_chunks).exit_code, 0);
    const std::string csv = contents(job.path() / "labels.csv");
    const std::size_t last = csv.rfind('\n', csv.size() - 2) + 1;

    change_output(job.path() / "labels.csv", csv + csv.substr(last));
    EXPECT_EQ(verify_json(job, {"--recompute", "1000"}).at("different"), json::array({60}));

    change_output(job.path() / "labels.csv", csv.substr(0, last));
    EXPECT_THAT(verify(job, {"--recompute", "1000"}).out,
                HasSubstr("item 60: the output has nothing, and now it is '60,"));
}

TEST(Recompute, ChoosesTheSameItemsForTheSameSeed) {
    const JobFolder job(recompute_items);
    EXPECT_EQ(job.run_alone(small_chunks).exit_code, 0);
    std::string csv = contents(job.path() / "labels.csv");
    for (std::size_t item = 0; item < recompute_items; ++item) {
        csv = with_another_score(csv, item);
    }
    change_output(job.path() / "labels.csv", csv);

    const ProcessResult seven = verify(job, {"--recompute", "7", "--seed", "3"});
    const json of_three = verify_json(job, {"--recompute", "7", "--seed", "3"});
    const json of_four = verify_json(job, {"--recompute", "7", "--seed", "4"});

    EXPECT_EQ(of_three.at("different").size(), 7U);
    EXPECT_EQ(verify_json(job, {"--recompute", "7", "--seed", "3"}), of_three);
    EXPECT_NE(of_four.at("different"), of_three.at("different"));
    EXPECT_THAT(seven.out, HasSubstr("and 2 more\n"));
}

TEST(Recompute, RefusesWhatIsNotAsItWas) {
    const JobFolder job(20);
    EXPECT_EQ(job.run_alone(small_chunks).exit_code, 0);
    const std::filesystem::path input = job.path() / "articles.txt";
    const std::string texts = contents(input);

    write_file(input, "x" + texts);
    const ProcessResult changed = verify(job, {"--recompute", "3"});
    std::filesystem::remove(input);
    const ProcessResult missing = verify(job, {"--recompute", "3"});
    write_file(input, texts);

    EXPECT_EQ(changed.exit_code, 78);
    EXPECT_THAT(changed.err, AllOf(HasSubstr("E-CKP-195]: "), HasSubstr("differences: input (was ")));
    EXPECT_EQ(missing.exit_code, 66);
    EXPECT_EQ(missing.errors().size(), 1U) << missing.err;
    EXPECT_EQ(verify(job, {"--recompute", "3"}).exit_code, 0);
}

/// Makes the complete output of a host look like one of a GPU.
void say_that_a_gpu_computed(const std::filesystem::path& output, const std::string& model) {
    const RunPaths paths = find_run(output).value();
    RunIdentity identity = read_run_identity(paths).value();
    std::erase_if(identity.settings, [](const auto& setting) { return setting.first == "run.instructions"; });
    *std::ranges::find(identity.settings, std::pair<std::string, std::string>{"run.device", "host"}) = {"run.device",
                                                                                                        "cuda"};
    identity.settings.emplace_back("run.gpu", model);
    Manifest manifest = read_manifest(paths).value();
    manifest.fingerprint = fingerprint(identity);
    write_file(paths.identity(), encode(identity));
    write_file(paths.manifest(), encode(manifest));
}

TEST(Recompute, NamesTheGpuThatIsMissing) {
    const JobFolder job(20);
    EXPECT_EQ(job.run_alone(small_chunks).exit_code, 0);
    say_that_a_gpu_computed(job.path() / "labels.csv", "NVIDIA H200");

    const ProcessResult result =
        Process({"/usr/bin/env", "CUDA_VISIBLE_DEVICES=", SLUICE_PROGRAM, "verify", "labels.csv", "--recompute", "3"},
                {.folder = job.path()})
            .wait();

    EXPECT_EQ(result.exit_code, 69);
    EXPECT_THAT(result.err, AllOf(HasSubstr("E-CKP-197]: "), HasSubstr("computed on NVIDIA H200, and here is no GPU: "),
                                  Not(HasSubstr("run.device"))));
}

TEST(Recompute, ShowsItsProgress) {
    const EchoJob job({"slow", "held", "held", "held"});
    job.release();
    ASSERT_EQ(job.run(0, {"pipeline.chunk_items=1"}).exit_code, 0);
    job.hold();
    const auto verify = [&](Terminal& terminal, const std::vector<std::string>& more) {
        return Process(joined({SLUICE_ECHO_PROGRAM, "verify", "labels.csv", "--recompute", "4"}, more),
                       {.folder = job.path(), .err = terminal.file()});
    };

    Terminal terminal;
    Process shown = verify(terminal, {});
    static_cast<void>(terminal.read_until(" of 4 items ("));
    job.release();
    Terminal quiet_terminal;
    Process quiet = verify(quiet_terminal, {"--no-progress"});

    EXPECT_EQ(shown.wait().exit_code, 0);
    EXPECT_EQ(quiet_terminal.read_to_end(), "");
    EXPECT_EQ(quiet.wait().exit_code, 0);
}

TEST(Recompute, ComputesNothingForADamagedOutput) {
    const JobFolder job(20);
    EXPECT_EQ(job.run_alone({}).exit_code, 0);
    write_file(job.path() / "labels.csv", contents(job.path() / "labels.csv") + "x");

    const ProcessResult result = verify(job, {"--recompute", "3"});

    EXPECT_EQ(result.exit_code, 84);
    EXPECT_THAT(result.err, HasSubstr("E-CKP-088"));
    EXPECT_THAT(result.out, Not(HasSubstr("computed again")));
}

TEST(Recompute, OfNoItemsIsNothingToDo) {
    const JobFolder job(0);
    EXPECT_EQ(job.run_alone({}).exit_code, 0);

    const ProcessResult result = verify(job, {"--recompute", "3", "--seed", "1"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("; 0 items computed again (seed 1)"));
}

TEST(Recompute, IsAskedForWithANumber) {
    const JobFolder job(3);
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"--recompute", "0"}, {"--recompute", "some"}, {"--recompute", "3", "--seed", "-1"}, {"--seed", "1"}}) {
        const ProcessResult result = verify(job, words);
        EXPECT_EQ(result.exit_code, 64);
        EXPECT_THAT(result.err, HasSubstr("E-USE-098"));
    }
}

/// An item that crashes whoever computes it.
TEST(Recompute, PassesOverItemsThatWereLeftOut) {
    const EchoJob job({"a", "bb", "crash", "dddd", "eeeee"});
    ProcessResult done;
    do {
        done = job.run(0, {"pipeline.chunk_items=2", "fault.max_failed_items=1"});
    } while (done.exit_code == 128 + SIGSEGV);
    ASSERT_EQ(done.exit_code, 0) << done.err;

    const ProcessResult result =
        Process({SLUICE_ECHO_PROGRAM, "verify", "labels.csv", "--recompute", "5"}, {.folder = job.path()}).wait();

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("; 4 items computed again: all the same"));
}

}  // namespace
}  // namespace sluice::test
