// The finished program on a GPU. Without one these are skipped, with the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/device/cuda.hpp"
#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class OnGpu : public testing::Test {
protected:
    void SetUp() override {
        if (cuda_device_count() == 0) {
            GTEST_SKIP() << "no GPU: " << why_no_cuda();
        }
        ASSERT_EQ(setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1), 0);  // measured costs: not the user's
    }

private:
    TemporaryFolder cache_;
};

class Cuda : public OnGpu {};
class CudaRanks : public OnGpu {};
class CudaFault : public OnGpu {};

/// All scores in a row; the first two columns are item and label.
std::vector<double> scores_in(const std::string& csv) {
    std::vector<double> scores;
    const auto rows = csv_rows(csv);
    for (std::size_t i = 1; i < rows.size(); ++i) {
        for (std::size_t c = 2; c < rows[i].size(); ++c) {
            scores.push_back(std::stod(rows[i][c]));
        }
    }
    return scores;
}

double relative_error(const std::vector<double>& got, const std::vector<double>& expected) {
    double off = 0;
    double norm = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        off += std::pow(got.at(i) - expected[i], 2);
        norm += std::pow(expected[i], 2);
    }
    return std::sqrt(off / norm);
}

std::vector<std::string> on_cuda(std::vector<std::string> keys) {
    keys.insert(keys.end(), {"run.device=cuda", "run.devices=1"});
    return set(keys);
}

TEST_F(Cuda, GivesTheHostsLabelsAndScoresInFp32) {
    constexpr std::size_t items = 1009;
    const JobFolder job(items);
    const std::string host = job.output_of(0, set({"run.device=host", "run.devices=auto"}));
    for (const char* const chunk : {"1", "7", "256", "auto"}) {
        SCOPED_TRACE(chunk);
        const std::string cuda = job.output_of(0, on_cuda({std::string("pipeline.chunk_items=") + chunk}));
        EXPECT_EQ(labels_in(cuda, items), labels_in(host, items));
        EXPECT_LT(relative_error(scores_in(cuda), scores_in(host)), 1e-4);
    }
}

TEST_F(Cuda, CertifiesTheLabelsOfFp32) {
    constexpr std::size_t items = 4999;
    const JobFolder job(items);
    const auto labels = labels_in(job.output_of(0, on_cuda({"run.precision=fp32"})), items);
    ASSERT_GE(std::set<std::string>(labels.begin(), labels.end()).size(), 2U);
    for (const char* const chunk : {"pipeline.chunk_items=100", "pipeline.chunk_items=2048"}) {
        EXPECT_EQ(labels_in(job.output_of(0, on_cuda({"run.precision=certified", chunk})), items), labels) << chunk;
    }
}

TEST_F(Cuda, ComputesAllOfAFewItemsAgainBecauseTheyTeachNothing) {
    const JobFolder job(100);
    const ProcessResult result = job.run_alone(on_cuda({"run.precision=certified"}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(
        result.out,
        HasSubstr("certified: 100 items (100.0 %) computed again in tf32x3, 100 of them in fp32, all, because"));
}

TEST_F(Cuda, GivesTheSameBytesForEveryPipelineAndPrecision) {
    const JobFolder job(1009);
    for (const char* const precision : {"fp32", "tf32x3", "tf32", "bf16", "fp16", "certified"}) {
        SCOPED_TRACE(precision);
        const std::vector<std::string> keys{"pipeline.chunk_items=64", std::string("run.precision=") + precision};
        const std::string bytes = job.output_of(0, on_cuda(keys));
        for (const char* const change : {"pipeline.depth=1", "pipeline.depth=7", "pipeline.mode=serial"}) {
            std::vector<std::string> changed = keys;
            changed.emplace_back(change);
            EXPECT_EQ(job.output_of(0, on_cuda(changed)), bytes) << change;
        }
    }
}

TEST_F(Cuda, GivesTheSameBytesForEveryChunkSizeInEveryPrecision) {
    const JobFolder job(1009);
    for (const char* const precision : {"fp32", "tf32x3", "tf32", "bf16", "fp16", "certified"}) {
        const auto bytes = [&](int chunk_items) {
            return job.output_of(0, on_cuda({"pipeline.chunk_items=" + std::to_string(chunk_items),
                                             std::string("run.precision=") + precision}));
        };

        const std::string expected = bytes(64);
        EXPECT_EQ(bytes(7), expected) << precision;
        EXPECT_EQ(bytes(100), expected) << precision;
        EXPECT_EQ(bytes(1009), expected) << precision;
    }
}

TEST_F(Cuda, ComputesItemsOfAnOutputAgainToTheSameBytes) {
    const JobFolder job(1009);
    for (const char* const precision : {"fp32", "tf32x3", "bf16", "certified"}) {
        SCOPED_TRACE(precision);
        const ProcessResult run = job.run_alone(on_cuda({std::string("run.precision=") + precision}));
        ASSERT_EQ(run.exit_code, 0) << run.err;
        for (const char* const items : {"10", "1009"}) {
            const ProcessResult again =
                Process({SLUICE_PROGRAM, "verify", "labels.csv", "--recompute", items}, {.folder = job.path()}).wait();
            EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
            EXPECT_THAT(again.out, HasSubstr(std::string(items) + " items computed again: all the same"));
        }
        job.remove_output();
    }
}

TEST_F(CudaRanks, GiveTheSameBytesAsOneProcess) {
    const JobFolder job(1009);
    for (const char* const precision : {"fp32", "bf16", "certified"}) {
        SCOPED_TRACE(precision);
        const auto words = set({"run.device=cuda", "pipeline.chunk_items=64", std::string("run.precision=") + precision,
                                "run.devices=auto"});
        const std::string bytes = job.output_of(0, words);
        EXPECT_EQ(job.output_of(2, words), bytes);
        EXPECT_EQ(job.output_of(4, words), bytes);
    }
}

/// A job of the trained model of examples/, to texts.jsonl, in a precision that the build's GPU may have no code for.
class CudaRanksGpt2 : public OnGpu, public testing::WithParamInterface<const char*> {
protected:
    CudaRanksGpt2() {
        write_file(job_.path() / "gpt2.toml",
                   "app = \"gpt2\"\ninput.path = \"articles.txt\"\noutput.path = \"texts.jsonl\"\n"
                   "run.device = \"cuda\"\nrun.precision = \"" +
                       std::string(GetParam()) +
                       "\"\ngenerate = { max_prompt_tokens = 100, max_new_tokens = 20, long_prompts = \"cut\" }\n"
                       "model.weights = \"" SLUICE_SOURCE_DIR "/examples/models/gpt2/model.safetensors\"\n");
    }

    [[nodiscard]] ProcessResult run(int ranks, const char* chunk_items) const {
        std::vector<std::string> words{"run", "gpt2.toml", "--no-progress"};
        const auto keys = set({std::string("pipeline.chunk_items=") + chunk_items});
        words.insert(words.end(), keys.begin(), keys.end());
        return Process(launch_words(ranks, words, SLUICE_FAULTS_PROGRAM), {.folder = job_.path()}).wait();
    }

    [[nodiscard]] static bool is_lacking(const ProcessResult& done) {
        return done.exit_code == 69 && done.err.find("E-GPU-063") != std::string::npos;
    }

    /// What a run gave, which is removed.
    [[nodiscard]] std::string take_output(const ProcessResult& done) const {
        EXPECT_EQ(done.exit_code, 0) << done.err;
        std::string bytes = contents(output());
        std::filesystem::remove(output());
        std::filesystem::remove_all(output().native() + ".sluice");
        return bytes;
    }

private:
    [[nodiscard]] std::filesystem::path output() const { return job_.path() / "texts.jsonl"; }

    JobFolder job_{200};
};

TEST_P(CudaRanksGpt2, ContinuePromptsWithTheSameBytesForAnyRanksAndChunks) {
    const ProcessResult first = run(0, "200");
    if (is_lacking(first)) {
        GTEST_SKIP() << first.err;
    }
    const std::string bytes = take_output(first);

    EXPECT_EQ(std::ranges::count(bytes, '\n'), 200);
    EXPECT_EQ(take_output(run(0, "7")), bytes);
    EXPECT_EQ(take_output(run(2, "31")), bytes);
    EXPECT_EQ(take_output(run(3, "13")), bytes);
    EXPECT_EQ(take_output(run(5, "40")), bytes);
}

TEST_P(CudaRanksGpt2, ContinuePromptsWithTheSameBytesAfterAKill) {
    const ProcessResult whole = run(0, "31");
    if (is_lacking(whole)) {
        GTEST_SKIP() << whole.err;
    }
    const std::string bytes = take_output(whole);
    ASSERT_EQ(::setenv("SLUICE_FAULT", "due:0:*=salt:1,jrn.synced:0:2=kill", 1), 0);  // with two chunks committed
    EXPECT_NE(run(3, "31").exit_code, 0);
    ASSERT_EQ(::unsetenv("SLUICE_FAULT"), 0);

    const ProcessResult done = run(2, "31");

    EXPECT_THAT(done.err, HasSubstr("resuming after"));
    EXPECT_EQ(take_output(done), bytes);
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaRanksGpt2,
                         testing::Values("fp32", "tf32x3", "bf16", "fp8", "fp16x2", "certified"),
                         [](const auto& precision) { return std::string(precision.param); });

TEST_F(Cuda, RunsAnEmptyInputToAnEmptyOutput) {
    EXPECT_EQ(JobFolder(0).output_of(0, on_cuda({})), "item,label,score_0,score_1,score_2,score_3\n");
}

/// What a run of 20 items in chunks of 7 tells a profiler.
std::string ranges_of_three_chunks(const std::string& device) {
    const JobFolder job(20);
    const std::filesystem::path ranges = job.path() / "ranges.txt";
    std::vector<std::string> words{"/usr/bin/env",
                                   "NVTX_INJECTION64_PATH=" SLUICE_NVTX_LISTENER,
                                   "SLUICE_TEST_RANGES=" + ranges.native(),
                                   SLUICE_PROGRAM,
                                   "run",
                                   "job.toml"};
    const auto keys = set({"run.device=" + device, "run.devices=1", "pipeline.chunk_items=7"});
    words.insert(words.end(), keys.begin(), keys.end());
    const ProcessResult run = Process(words, {.folder = job.path()}).wait();
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return contents(ranges);
}

/// Each chunk's stages once, and no range that stays open.
void expect_each_chunks_stages(const std::string& ranges) {
    std::multiset<std::string> expected{"0 open"};
    for (const char* const stage : {"scatter", "upload", "compute", "download", "gather"}) {
        for (const char* const chunk : {"0", "1", "2"}) {
            expected.insert(std::string("sluice ") + stage + " " + chunk);
        }
    }
    std::istringstream lines(ranges);
    std::multiset<std::string> got;
    for (std::string line; std::getline(lines, line);) {
        got.insert(line);
    }
    EXPECT_EQ(got, expected);
}

TEST(ProfilerRanges, AreEachChunksStagesOnTheHost) {
    expect_each_chunks_stages(ranges_of_three_chunks("host"));
}

TEST_F(Cuda, ShowsAProfilerEachChunksStages) {
    expect_each_chunks_stages(ranges_of_three_chunks("cuda"));
}

const std::vector<std::string> known_pipeline{"pipeline.chunk_items=16", "pipeline.depth=2"};

/// Of the calls of a run with `pipeline`, number `at` fails with `code`, and all after it.
ProcessResult run_with_fault(const JobFolder& job, long at, int code, const std::filesystem::path& count,
                             std::vector<std::string> pipeline = known_pipeline) {
    std::vector<std::string> words{"/usr/bin/env",
                                   "LD_PRELOAD=" SLUICE_CUDA_FAULT_SHIM,
                                   "SLUICE_TEST_FAULT_AT=" + std::to_string(at),
                                   "SLUICE_TEST_FAULT_CODE=" + std::to_string(code),
                                   "SLUICE_TEST_FAULT_COUNT=" + count.native(),
                                   SLUICE_PROGRAM,
                                   "run",
                                   "job.toml"};
    pipeline.emplace_back("run.precision=bf16");
    const auto keys = on_cuda(std::move(pipeline));
    words.insert(words.end(), keys.begin(), keys.end());
    return Process(words, {.folder = job.path()}).wait();
}

TEST_F(CudaFault, AtAnyCallPublishesNothingAndNamesTheGpu) {
    const JobFolder job(100);
    const TemporaryFolder count;
    ASSERT_EQ(run_with_fault(job, 0, 0, count.path() / "calls").exit_code, 0);
    job.remove_output();
    std::filesystem::remove(job.path() / "labels.csv.report.json");
    const long calls = std::stol(contents(count.path() / "calls"));
    ASSERT_GT(calls, 50);
    std::size_t staged = 0;
    for (long at = 1; at <= calls; at += std::max(1L, calls / 60)) {
        SCOPED_TRACE(at);
        constexpr int illegal_address = 700;
        const ProcessResult result = run_with_fault(job, at, illegal_address, count.path() / "calls");
        if (result.exit_code == 0) {  // timing moved the number of looks at events: the call never came
            EXPECT_GT(at, calls / 2);
            job.remove_output();
            std::filesystem::remove(job.path() / "labels.csv.report.json");
            continue;
        }
        EXPECT_EQ(result.exit_code, 70) << result.err;
        EXPECT_EQ(result.errors().size(), 1U) << result.err;
        EXPECT_THAT(result.err, HasSubstr("E-GPU-096"));
        EXPECT_THAT(result.err, ContainsRegex("GPU-[0-9a-f]{8}-"));
        staged += result.err.find("chunk") != std::string::npos ? 1 : 0;
        EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv"));
        job.remove_output();
    }
    EXPECT_GT(staged, 5U) << "faults while chunks were under way name the chunk";
}

TEST_F(CudaFault, WhileCostsAreMeasuredPublishesNothingAndKeepsNoCosts) {
    constexpr int launch_failed = 719;
    const JobFolder job(100);
    const TemporaryFolder count;
    const auto run = [&](long at, const TemporaryFolder& cache) {
        EXPECT_EQ(setenv("XDG_CACHE_HOME", cache.path().c_str(), 1), 0);
        return run_with_fault(job, at, launch_failed, count.path() / "calls", {});
    };
    const auto calls_of_run = [&](const TemporaryFolder& cache) {
        EXPECT_EQ(run(0, cache).exit_code, 0);
        job.remove_output();
        std::filesystem::remove(job.path() / "labels.csv.report.json");
        return std::stol(contents(count.path() / "calls"));
    };
    const TemporaryFolder kept;
    const long calls = calls_of_run(kept);
    const long measuring = calls - calls_of_run(kept);
    ASSERT_GT(measuring, 50);
    for (long at = 1; at <= measuring * 9 / 10; at += std::max(1L, measuring / 15)) {
        const TemporaryFolder cache;
        const ProcessResult result = run(at, cache);
        EXPECT_EQ(result.exit_code, 70) << at << result.err;
        EXPECT_THAT(result.err, HasSubstr("E-GPU-096"));
        EXPECT_FALSE(std::filesystem::exists(cache.path() / "sluice")) << at;
        job.expect_nothing_left();
    }
}

struct Fault {
    int code;
    int exit_code;
    const char* id;
};

TEST_F(CudaFault, EndsWithTheCodeOfItsKind) {
    const JobFolder job(100);
    const TemporaryFolder count;
    for (const Fault& fault : {Fault{214, 80, "E-GPU-080"}, Fault{220, 80, "E-GPU-080"}, Fault{719, 70, "E-GPU-096"},
                               Fault{999, 70, "E-GPU-096"}, Fault{2, 71, "E-GPU-066"}}) {
        const ProcessResult result = run_with_fault(job, 100, fault.code, count.path() / "calls");
        EXPECT_EQ(result.exit_code, fault.exit_code) << result.err;
        EXPECT_THAT(result.err, HasSubstr(fault.id));
        EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv"));
        job.remove_output();
    }
}

}  // namespace
}  // namespace sluice::test
