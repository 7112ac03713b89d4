// Log-probabilities of the app "gpt2", against softmax of what plain formulas make of the same checkpoint.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "apps/gpt2/checkpoint.hpp"
#include "apps/gpt2/tokenizer.hpp"
#include "tests/e2e/job_folder.hpp"
#include "tests/support/decoder_reference.hpp"
#include "tests/support/files.hpp"
#include "tests/support/gpt2_files.hpp"

namespace sluice::test {
namespace {

using gpt2::TokenId;

constexpr std::size_t max_new = 6;

double log_of_softmax(const std::vector<double>& scores, TokenId token) {
    const double largest = *std::ranges::max_element(scores);
    double sum = 0;
    for (const double score : scores) {
        sum += std::exp(score - largest);
    }
    return scores[token] - largest - std::log(sum);
}

/// A folder with a checkpoint, prompts of token ids and a job that draws among changed scores.
class Gpt2LogProbability : public testing::Test {
protected:
    Gpt2LogProbability() : seed_(std::random_device{}()), weights_(gpt2::random_checkpoint(small_config(), seed_)) {
        std::mt19937 random(seed_);
        std::uniform_int_distribution<TokenId> token(0, small_config().shape.vocabulary - 1);
        std::string file;
        for (std::size_t i = 0; i < 12; ++i) {
            prompts_.emplace_back();
            for (std::size_t t = 0; t <= i; ++t) {
                prompts_.back().push_back(token(random));
                file += fmt::format("{} ", prompts_.back().back());
            }
            file += '\n';
        }
        write_checkpoint(path(), weights_);
        write_file(path() / "ids.txt", file);
        write_file(path() / "job.toml",
                   fmt::format("app = \"gpt2\"\nmodel.weights = \"model.safetensors\"\ninput.path = \"ids.txt\"\n"
                               "[run]\ndevice = \"host\"\ndevices = 1\n[generate]\nmax_prompt_tokens = 12\n"
                               "max_new_tokens = {}\nprompts = \"ids\"\nresults = \"ids\"\ntemperature = 0.8\n"
                               "top_k = 20\nrepetition_penalty = 1.5\nseed = {}\ntoken_log_probabilities = true\n",
                               max_new, seed_));
    }

    [[nodiscard]] std::string output_of(const std::string& name, const std::vector<std::string>& settings) const {
        std::vector<std::string> words{"run", "job.toml", "--no-progress", "--set", "output.path=" + name};
        const std::vector<std::string> more = set(settings);
        words.insert(words.end(), more.begin(), more.end());
        const ProcessResult done = Process(launch_words(0, words, SLUICE_FAULTS_PROGRAM), {.folder = path()}).wait();
        EXPECT_EQ(done.exit_code, 0) << done.err;
        return contents(path() / name);
    }

    [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

    std::uint32_t seed_;
    std::vector<std::vector<TokenId>> prompts_{};

private:
    TemporaryFolder folder_{};

protected:
    WeightBlob weights_;
};

TEST_F(Gpt2LogProbability, IsThatOfEachTokenByTheModelsOwnScores) {
    SCOPED_TRACE(fmt::format("seed {}", seed_));
    const std::string file = output_of("texts.jsonl", {"generate.log_probability=true"});

    std::size_t begin = 0;
    std::size_t tokens = 0;
    for (std::vector<TokenId> text : prompts_) {
        const std::size_t end = file.find('\n', begin);
        ASSERT_NE(end, std::string::npos);
        const nlohmann::json row = nlohmann::json::parse(file.substr(begin, end - begin));
        begin = end + 1;
        const auto& numbers = row.at("token_log_probabilities");
        ASSERT_EQ(numbers.size(), max_new);
        double sum = 0;
        for (std::size_t t = 0; t < max_new; ++t) {
            const bool is_there = t < row.at("new_tokens").get<std::size_t>();
            ASSERT_EQ(numbers[t].is_null(), !is_there);
            if (is_there) {
                const auto token = row.at("tokens")[t].get<TokenId>();
                const auto scores = plain_decoder_scores(small_config().shape, gpt2::weights_of(weights_), text);
                EXPECT_NEAR(numbers[t].get<double>(), log_of_softmax(scores, token), 1e-4);  // fp32 beside fp64
                sum += numbers[t].get<double>();
                text.push_back(token);
                ++tokens;
            }
        }
        EXPECT_NEAR(row.at("log_probability").get<double>(), sum, 1e-5);  // one rounding of a number below 100
    }
    EXPECT_EQ(begin, file.size());
    EXPECT_GT(tokens, prompts_.size());
}

TEST_F(Gpt2LogProbability, OfTokensChangesNothingElse) {
    const std::vector<std::vector<std::string>> with = csv_rows(output_of("with.csv", {"generate.end_of_text=false"}));
    const std::vector<std::vector<std::string>> without =
        csv_rows(output_of("without.csv", {"generate.end_of_text=false", "generate.token_log_probabilities=false"}));

    ASSERT_EQ(with.size(), prompts_.size() + 1);
    ASSERT_EQ(without.size(), with.size());
    for (std::size_t i = 0; i < with.size(); ++i) {
        ASSERT_EQ(with[i].size(), without[i].size() + max_new);
        EXPECT_TRUE(std::equal(without[i].begin(), without[i].end(), with[i].begin()));
    }
    EXPECT_EQ(with[0].back(), fmt::format("token_log_probability_{}", max_new - 1));
}

}  // namespace
}  // namespace sluice::test
