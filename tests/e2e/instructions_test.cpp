#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/host_instructions.hpp"
#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

/// Less than this CPU has; what has least takes minutes.
HostInstructions lower() {
    return host_instructions() >= HostInstructions::avx512 ? HostInstructions::avx2 : HostInstructions::avx;
}

/// A job whose host devices sum in another order with the lower instructions.
class Instructions : public testing::Test {
protected:
    void SetUp() override {
        if (host_instructions() < HostInstructions::avx2) {
            GTEST_SKIP() << "this CPU has no more than AVX";
        }
    }

    [[nodiscard]] static std::vector<std::string> limited_to(HostInstructions most, int chunk_items = 4) {
        return {"/usr/bin/env",
                "DNNL_MAX_CPU_ISA=" + std::string(variable_name_of(most)),
                SLUICE_PROGRAM,
                "run",
                "job.toml",
                "--set",
                "pipeline.chunk_items=" + std::to_string(chunk_items)};
    }

    [[nodiscard]] std::vector<std::string> lowered(int chunk_items = 4) const {
        return limited_to(lower(), chunk_items);
    }

    [[nodiscard]] ProcessResult run(const std::vector<std::string>& words) const {
        return Process(words, {.folder = job_.path()}).wait();
    }

    [[nodiscard]] std::string output() const { return contents(job_.path() / "labels.csv"); }

    [[nodiscard]] std::string output_with_lower(int chunk_items = 4) const {
        const ProcessResult result = run(lowered(chunk_items));
        EXPECT_EQ(result.exit_code, 0) << result.err;
        const std::string bytes = output();
        job_.remove_output();
        return bytes;
    }

    /// An attempt that is killed as soon as it has committed something.
    void begin(std::vector<std::string> words) const {
        std::ranges::replace(words, std::string(SLUICE_PROGRAM), std::string(SLUICE_FAULTS_PROGRAM));
        words.insert(words.begin(), {"/usr/bin/env", "SLUICE_FAULT=due:0:*=salt:1,jrn.synced:0:1=kill"});
        EXPECT_EQ(run(words).exit_code, 128 + SIGKILL);
    }

    JobFolder job_{40};
    std::vector<std::string> small_chunks_ = set({"pipeline.chunk_items=4"});
};

TEST_F(Instructions, StayThoseWithWhichARunHasBegun) {
    const std::string expected = output_with_lower();
    EXPECT_NE(job_.output_of(0, small_chunks_), expected);  // else this says nothing
    begin(lowered());

    const ProcessResult result = job_.run_alone({});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(output() == expected);
    EXPECT_THAT(contents(job_.path() / "labels.csv.sluice/job.json"),
                HasSubstr("\"" + std::string(name_of(lower())) + "\""));
}

TEST_F(Instructions, GiveTheSameBytesInChunksOfAnySize) {
    const std::string expected = output_with_lower();

    for (const int chunk_items : {1, 7, 33}) {
        EXPECT_TRUE(output_with_lower(chunk_items) == expected) << chunk_items;
    }
}

TEST_F(Instructions, ThatAreMissingEndARunThatHasBegunWithThem) {
    begin({SLUICE_PROGRAM, "run", "job.toml", "--set", "pipeline.chunk_items=4"});

    const ProcessResult refused = run(lowered());

    EXPECT_EQ(refused.exit_code, 78);
    EXPECT_THAT(refused.err, HasSubstr("E-CKP-091"));
    EXPECT_THAT(refused.err, HasSubstr("was begun with " +
                                       std::string(name_of(instructions_used(host_instructions(), Precision::fp32))) +
                                       " instructions"));
    EXPECT_THAT(refused.err, HasSubstr("has " + std::string(name_of(lower()))));
    EXPECT_EQ(job_.run_alone({}).exit_code, 0);
    EXPECT_THAT(run(lowered()).out, HasSubstr("already complete"));
}

TEST_F(Instructions, OfARunComputeItsItemsAgain) {
    const auto verify = [](std::vector<std::string> words) {
        const auto command = std::ranges::find(words, "run");
        words.erase(command, words.end());
        words.insert(words.end(), {"verify", "job.toml", "--recompute", "40"});
        return words;
    };
    EXPECT_EQ(run(lowered()).exit_code, 0);

    const ProcessResult same = run(verify({SLUICE_PROGRAM, "run"}));
    job_.remove_output();
    EXPECT_EQ(job_.run_alone(small_chunks_).exit_code, 0);
    const ProcessResult refused = run(verify(lowered()));

    EXPECT_EQ(same.exit_code, 0) << same.err;
    EXPECT_THAT(same.out, HasSubstr("; 40 items computed again: all the same"));
    EXPECT_EQ(refused.exit_code, 78);
    EXPECT_THAT(refused.err, HasSubstr("E-CKP-091"));
    EXPECT_THAT(refused.err, HasSubstr("hint: compute it again on a host that has them"));
}

TEST_F(Instructions, ThatAreMissingAreFoundBeforeARun) {
    std::vector<std::string> words = lowered();
    words.insert(words.end(), {"--set", "run.device=host", "--set", "run.precision=bf16"});
    const auto command = std::ranges::find(words, "run");

    const ProcessResult refused = run(words);
    *command = "check";
    const ProcessResult checked = run(words);
    *command = "doctor";
    const ProcessResult examined = run(words);

    EXPECT_EQ(refused.exit_code, 69);
    EXPECT_THAT(refused.err, HasSubstr("error[E-HWL-146]: run.precision: "));
    EXPECT_EQ(checked.exit_code, 69);
    EXPECT_EQ(checked.err, refused.err);
    EXPECT_EQ(checked.out, "");
    EXPECT_EQ(examined.exit_code, 69);
    EXPECT_THAT(examined.out, HasSubstr("E-HWL-146: rank 0 on "));
    job_.expect_nothing_left();
}

TEST_F(Instructions, OfARunAreWhatAllRanksHave) {
    const std::string expected = output_with_lower();
    std::vector<std::string> words = launch_words(1, {"run", "job.toml", "--set", "pipeline.chunk_items=4"});
    for (const std::string& word : lowered()) {
        words.push_back(word);
    }
    const auto second = words.end() - static_cast<std::ptrdiff_t>(lowered().size());
    words.insert(second, {":", "-n", "2"});

    const ProcessResult result = run(words);

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(output() == expected);
}

/// bf16 on a host, which needs AMX.
class Amx : public Instructions {
protected:
    void SetUp() override {
        if (host_instructions() < HostInstructions::amx) {
            GTEST_SKIP() << "this CPU has no AMX";
        }
    }

    [[nodiscard]] static std::vector<std::string> in_bf16(std::vector<std::string> words) {
        words.insert(words.end(), {"--set", "run.precision=bf16"});
        return words;
    }
};

TEST_F(Amx, GivesTheSameBytesOnAnyRanksAndInAnyChunks) {
    const std::string in_fp32 = job_.output_of(0, small_chunks_);
    const std::string expected = job_.output_of(0, in_bf16(small_chunks_));
    EXPECT_NE(in_fp32, expected);
    EXPECT_EQ(std::ranges::count(in_fp32, '\n'), std::ranges::count(expected, '\n'));

    for (const int chunk_items : {1, 7, 33}) {
        const auto chunks = set({"pipeline.chunk_items=" + std::to_string(chunk_items)});
        EXPECT_TRUE(job_.output_of(3, in_bf16(chunks)) == expected) << chunk_items;
    }
}

TEST_F(Amx, IsAskedForByJobsInBf16Alone) {
    const ProcessResult refused = run(in_bf16(limited_to(HostInstructions::avx512)));

    EXPECT_EQ(refused.exit_code, 69);
    ASSERT_EQ(refused.errors().size(), 1U) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("error[E-HWL-146]: run.precision: "));
    EXPECT_FALSE(std::filesystem::exists(job_.path() / "labels.csv.sluice"));
    EXPECT_EQ(run(limited_to(HostInstructions::avx512)).exit_code, 0);
    EXPECT_THAT(contents(job_.path() / "labels.csv.sluice/job.json"), HasSubstr("\"avx512\""));
    const std::string with_less = output();
    job_.remove_output();
    EXPECT_TRUE(job_.output_of(0, small_chunks_) == with_less);
}

TEST_F(Amx, ContinuesARunThatItHasBegun) {
    const std::string expected = job_.output_of(0, in_bf16(small_chunks_));
    begin(in_bf16({SLUICE_PROGRAM, "run", "job.toml", "--set", "pipeline.chunk_items=4"}));

    EXPECT_EQ(run(in_bf16(limited_to(HostInstructions::avx512))).exit_code, 69);
    const ProcessResult result = job_.run_ranks(2, in_bf16(small_chunks_));

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(output() == expected);
    EXPECT_THAT(contents(job_.path() / "labels.csv.sluice/job.json"), HasSubstr("\"amx\""));
}

}  // namespace
}  // namespace sluice::test
