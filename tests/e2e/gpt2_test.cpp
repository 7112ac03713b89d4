// Jobs of the app "gpt2", against what plain formulas make of the same checkpoint.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
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
using testing::HasSubstr;

/// A folder with a checkpoint, prompts and a job.
class Gpt2 : public testing::Test {
protected:
    Gpt2() : weights_(gpt2::random_checkpoint(config(), 5)) {
        write_checkpoint(path(), weights_);
        write_file(path() / "prompts.jsonl", prompts_file());
        write_job("");
    }

    static gpt2::Config config() {
        gpt2::Config config = small_config();
        config.shape.layers = 2;
        return config;
    }

    [[nodiscard]] static std::vector<std::string> prompts() {
        std::vector<std::string> prompts;
        for (int i = 0; i < 40; ++i) {
            prompts.push_back(fmt::format("the {} of\\n {}", i, std::string(static_cast<std::size_t>(i) % 11, 'x')));
        }
        return prompts;
    }

    static std::string prompts_file() {
        std::string file;
        for (const std::string& prompt : prompts()) {
            file += fmt::format("{{\"text\": \"{}\"}}\n", prompt);
        }
        return file;
    }

    void write_job(const std::string& options,
                   const std::string& input = "path = \"prompts.jsonl\"\ncolumns = [\"text\"]") const {
        write_file(path() / "job.toml",
                   "app = \"gpt2\"\nmodel.weights = \"model.safetensors\"\noutput.path = \"texts.csv\"\n[input]\n" +
                       input + "\n[run]\ndevice = \"host\"\ndevices = 1\n[generate]\nmax_prompt_tokens = 30\n" +
                       "max_new_tokens = 12\n" + options);
    }

    [[nodiscard]] ProcessResult run(int ranks, const std::vector<std::string>& settings) const {
        std::vector<std::string> words{"run", "job.toml", "--no-progress"};
        const std::vector<std::string> more = set(settings);
        words.insert(words.end(), more.begin(), more.end());
        return Process(launch_words(ranks, words, SLUICE_FAULTS_PROGRAM), {.folder = path()}).wait();
    }

    [[nodiscard]] std::string output_of(int ranks, const std::vector<std::string>& settings) const {
        const ProcessResult done = run(ranks, settings);
        EXPECT_EQ(done.exit_code, 0) << done.err;
        std::string output = contents(path() / "texts.csv");
        std::filesystem::remove(path() / "texts.csv");
        std::filesystem::remove_all(path() / "texts.csv.sluice");
        return output;
    }

    /// Greedy, until the end or so many tokens.
    [[nodiscard]] std::vector<TokenId> continued(std::vector<TokenId> text, std::size_t most,
                                                 AttentionMask mask = AttentionMask::causal) const {
        DecoderShape shape = config().shape;
        shape.mask = mask;
        const std::size_t prompt = text.size();
        std::vector<TokenId> made;
        while (made.size() < most) {
            const std::vector<double> scores = plain_decoder_scores(shape, gpt2::weights_of(weights_), text, prompt);
            const auto token = static_cast<TokenId>(std::ranges::max_element(scores) - scores.begin());
            if (config().end.contains(token)) {
                break;
            }
            made.push_back(token);
            text.push_back(token);
        }
        return made;
    }

    [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

private:
    TemporaryFolder folder_;
    WeightBlob weights_;
};

TEST_F(Gpt2, ContinuesPromptsAsThePlainFormulasDo) {
    write_job("results = \"ids\"\n");
    const gpt2::Tokenizer tokenizer = gpt2::Tokenizer::from_vocabulary(path() / "vocab.json", path() / "merges.txt");
    const std::vector<std::vector<std::string>> rows = csv_rows(output_of(0, {}));

    ASSERT_EQ(rows.size(), prompts().size() + 1);
    for (std::size_t i = 0; i < prompts().size(); ++i) {
        std::string prompt = prompts()[i];
        prompt.replace(prompt.find("\\n"), 2, "\n");
        std::vector<TokenId> ids;
        tokenizer.encode(prompt, ids);
        std::vector<std::string> expected{std::to_string(i)};
        const std::vector<TokenId> made = continued(ids, 12);
        for (std::size_t t = 0; t < 12; ++t) {
            expected.push_back(t < made.size() ? std::to_string(made[t]) : "");
        }
        expected.push_back(std::to_string(ids.size()));
        expected.push_back(std::to_string(made.size()));
        EXPECT_EQ(rows[i + 1], expected);
    }
}

TEST_F(Gpt2, GivesTheSameBytesForAnyRanksAndChunks) {
    write_job("temperature = 0.9\ntop_p = 0.95\nseed = 3\nlog_probability = true\n");
    const std::string alone = output_of(0, {"pipeline.chunk_items=5"});

    for (const auto& [ranks, chunk] :
         std::vector<std::pair<int, const char*>>{{0, "1"}, {0, "1000"}, {0, "auto"}, {2, "7"}, {3, "1"}, {5, "3"}}) {
        EXPECT_EQ(output_of(ranks, {fmt::format("pipeline.chunk_items={}", chunk)}), alone) << ranks << ' ' << chunk;
    }
    EXPECT_GT(alone.size(), 40U * 15);
}

TEST_F(Gpt2, GivesTheSameBytesAfterMpiKills) {
    write_job("temperature = 0.9\nseed = 3\n");
    const std::string whole = output_of(0, {"pipeline.chunk_items=4"});
    ASSERT_EQ(::setenv("SLUICE_FAULT", "due:0:*=salt:1,jrn.synced:0:2=kill", 1), 0);
    EXPECT_NE(run(3, {"pipeline.chunk_items=4"}).exit_code, 0);
    ASSERT_EQ(::unsetenv("SLUICE_FAULT"), 0);

    const ProcessResult done = run(2, {"pipeline.chunk_items=4"});

    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("resuming after"));
    EXPECT_EQ(contents(path() / "texts.csv"), whole);
}

TEST_F(Gpt2, TakesIdsForPromptsAndTheBeginningForNone) {
    write_file(path() / "ids.txt", "5 6  7\n\n 259\n");
    write_job("prompts = \"ids\"\nresults = \"ids\"\n", "path = \"ids.txt\"");

    const std::vector<std::vector<std::string>> rows = csv_rows(output_of(0, {}));

    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[1][13], "3");
    EXPECT_EQ(std::vector(rows[2].begin() + 1, rows[2].end()), std::vector(rows[3].begin() + 1, rows[3].end()));
    const std::vector<TokenId> made = continued({5, 6, 7}, 12);
    for (std::size_t t = 0; t < made.size(); ++t) {
        EXPECT_EQ(rows[1][1 + t], std::to_string(made[t]));
    }
}

TEST_F(Gpt2, LetsPromptsSeeThemselvesWholeAsAPrefixModel) {
    const std::vector<TokenId> prompt{5, 6, 7, 8, 9, 10, 11};
    write_file(path() / "ids.txt", "5 6 7 8 9 10 11\n7 7\n5 6 7 8 9 10 11\n");
    write_job("prompts = \"ids\"\nresults = \"ids\"\n", "path = \"ids.txt\"");

    const std::string output = output_of(0, {"model.attention=prefix"});

    const std::vector<TokenId> made = continued(prompt, 12, AttentionMask::prefix);
    EXPECT_NE(made, continued(prompt, 12));
    const std::vector<std::vector<std::string>> rows = csv_rows(output);
    ASSERT_EQ(rows.size(), 4U);
    for (std::size_t t = 0; t < made.size(); ++t) {
        EXPECT_EQ(rows[1][1 + t], std::to_string(made[t])) << t;
        EXPECT_EQ(rows[3][1 + t], std::to_string(made[t])) << t;
    }
    EXPECT_EQ(output_of(2, {"model.attention=prefix", "pipeline.chunk_items=1"}), output);
}

std::string npy(const std::string& type, const std::string& shape, const std::string& data) {
    const std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
    return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + data;
}

/// The same prompts as a text, and as rows that end with negative numbers.
TEST_F(Gpt2, TakesIdsFromArraysOnAnyRanks) {
    const std::vector<std::int32_t> rows{5, 6, 7, -1, 259, -1, -1, -1, 1, 2, 3, 4};
    const std::string data(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof rows[0]);
    write_file(path() / "ids.txt", "5 6 7\n259\n1 2 3 4\n");
    write_file(path() / "ids.npy", npy("<i4", "(3, 4)", data));
    write_file(path() / "ids.bin", data);
    const std::string options = "prompts = \"ids\"\nresults = \"ids\"\n";
    write_job(options, "path = \"ids.txt\"");
    const std::string expected = output_of(0, {"generate.max_prompt_tokens=4"});
    ASSERT_EQ(csv_rows(expected).size(), 4U);

    EXPECT_EQ(output_of(0, {"generate.max_prompt_tokens=4", "input.path=ids.npy"}), expected);
    EXPECT_EQ(output_of(2, {"generate.max_prompt_tokens=4", "input.path=ids.bin"}), expected);

    EXPECT_EQ(
        csv_rows(output_of(0, {"generate.max_prompt_tokens=3", "generate.long_prompts=cut", "input.path=ids.npy"}))
            .at(3)
            .at(13),
        "3");
    const ProcessResult longer = run(0, {"generate.max_prompt_tokens=3", "input.path=ids.npy"});
    EXPECT_EQ(longer.exit_code, 65);
    EXPECT_THAT(longer.err, HasSubstr("item 2 (at byte 102): the prompt has 4 tokens, expected at most"));
    const ProcessResult texts = run(0, {"generate.prompts=text", "input.path=ids.npy"});
    EXPECT_EQ(texts.exit_code, 65);
    EXPECT_THAT(texts.err, HasSubstr("numbers are token ids, and generate.prompts says \"text\""));
}

TEST_F(Gpt2, RefusesIdsThatAreNone) {
    write_job("prompts = \"ids\"\n", "path = \"ids.bin\"");
    const auto err_of = [&](const std::vector<std::int32_t>& row) {
        write_file(path() / "ids.bin", std::string(reinterpret_cast<const char*>(row.data()), row.size() * 4));
        const ProcessResult done = run(0, {"generate.max_prompt_tokens=3"});
        EXPECT_EQ(done.exit_code, 65);
        return done.err;
    };
    EXPECT_THAT(err_of({1, 2, 3, 4, 260, 5}),
                HasSubstr("item 1 (at byte 12): column 1 is 260, expected a token id, 0 to "
                          "259"));
    EXPECT_THAT(err_of({1, -1, 3}), HasSubstr("item 0 (at byte 0): column 2 is 3, behind a negative number"));

    const std::uint64_t large = std::uint64_t{1} << 63U;
    write_file(path() / "ids.npy",
               npy("<u8", "(1,)", std::string(reinterpret_cast<const char*>(&large), sizeof large)));
    EXPECT_THAT(run(0, {"input.path=ids.npy"}).err, HasSubstr("column 0 is 9223372036854775807 or more, expected"));
    write_file(path() / "ids.jsonl", "{\"ids\": -0}\n");
    EXPECT_THAT(run(0, {"input.path=ids.jsonl", "input.columns=[\"ids\"]"}).err, HasSubstr("'-0' is no token id"));
}

TEST_F(Gpt2, TakesIdsAsArraysOfJson) {
    write_job("prompts = \"ids\"\nresults = \"ids\"\n", "path = \"ids.txt\"");
    write_file(path() / "ids.txt", "7 8 9\n\n259\n");
    write_file(path() / "ids.jsonl", "{\"tokens\": [7, 8, 9]}\n{\"tokens\": []}\n{\"tokens\": [259]}\n");
    const std::vector<std::string> as_arrays{"input.path=ids.jsonl", "input.columns=[\"tokens\"]"};

    EXPECT_EQ(output_of(0, as_arrays), output_of(0, {}));

    write_job("");
    EXPECT_THAT(run(0, as_arrays).err, HasSubstr("ids.jsonl:1: item 0: column 'tokens' is an array"));
}

/// With another config the largest id would be 50256: far beyond the embeddings.
TEST_F(Gpt2, KnowsACheckpointByWhatItHoldsWhateverItIsCalled) {
    std::filesystem::rename(path() / "model.safetensors", path() / "checkpoint");
    write_job("results = \"ids\"\n");
    EXPECT_EQ(run(0, {"model.weights=checkpoint"}).exit_code, 0);
    write_file(path() / "ids.txt", "259\n260\n");
    write_job("prompts = \"ids\"\nresults = \"ids\"\n", "path = \"ids.txt\"");

    const ProcessResult beyond = run(0, {"model.weights=checkpoint", "output.path=ids.csv"});

    EXPECT_EQ(beyond.exit_code, 65);
    EXPECT_THAT(beyond.err, HasSubstr("item 1: '260' is no token id, expected 0 to 259"));
    std::filesystem::remove(path() / "config.json");
    const ProcessResult unknown = run(0, {"model.weights=checkpoint", "output.path=ids.csv"});
    EXPECT_EQ(unknown.exit_code, 66);
    EXPECT_THAT(unknown.err, HasSubstr("config.json: model.config: cannot open: No such file"));
}

TEST_F(Gpt2, EndsTextsAtTheStringsThatStopThem) {
    write_job("temperature = 1.5\n");
    const std::string whole = output_of(0, {"output.path=texts.csv"});
    write_job("temperature = 1.5\nstop = [\"e\", \"a\"]\n");

    const std::string stopped = output_of(0, {});

    EXPECT_LT(stopped.size(), whole.size());
    EXPECT_EQ(stopped.substr(stopped.find('\n')).find_first_of("ea"), std::string::npos);
}

TEST_F(Gpt2, RefusesOrCutsPromptsThatAreTooLong) {
    const std::string hint = "prompts.jsonl:3: ";
    const ProcessResult refused = run(0, {"generate.max_prompt_tokens=7"});
    EXPECT_EQ(refused.exit_code, 65);
    EXPECT_THAT(refused.err, HasSubstr("the prompt has"));
    EXPECT_THAT(refused.err, HasSubstr("expected at most generate.max_prompt_tokens = 7"));

    const std::vector<std::vector<std::string>> rows =
        csv_rows(output_of(0, {"generate.max_prompt_tokens=7", "generate.long_prompts=cut", "generate.results=ids"}));
    EXPECT_EQ(rows.back()[13], "7");
}

TEST_F(Gpt2, CountsTokensAndCutPromptsOfAllRanks) {
    const ProcessResult done = run(2, {"pipeline.chunk_items=7", "generate.long_prompts=cut", "generate.results=ids",
                                       "generate.max_prompt_tokens=10", "output.report=report.json"});

    ASSERT_EQ(done.exit_code, 0) << done.err;
    const std::vector<std::vector<std::string>> rows = csv_rows(contents(path() / "texts.csv"));
    std::size_t prompt = 0;
    std::size_t made = 0;
    std::size_t ended = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        prompt += std::stoul(rows[i][13]);
        made += std::stoul(rows[i][14]);
        ended += std::stoul(rows[i][14]) < 12 ? 1 : 0;
    }
    const nlohmann::json counts = nlohmann::json::parse(contents(path() / "report.json")).at("run").at("counts");
    EXPECT_EQ(counts.at("texts"), prompts().size());
    EXPECT_EQ(counts.at("prompt_tokens"), prompt);
    EXPECT_EQ(counts.at("new_tokens"), made);
    EXPECT_EQ(counts.at("ended_early"), ended);
    EXPECT_EQ(counts.at("cut_prompts"), std::ranges::count_if(prompts(), [](const std::string& text) {
                  return text.size() - 3 > 10;  // "the" is one token, and the file spells a line break as two bytes
              }));
    EXPECT_THAT(done.out, HasSubstr(fmt::format("new tokens: {} (", made)));
}

TEST_F(Gpt2, SaysWhatIsMissingOrDoesNotFit) {
    const auto err_of = [&](int code, const std::vector<std::string>& settings) {
        const ProcessResult done = run(0, settings);
        EXPECT_EQ(done.exit_code, code);
        return done.err;
    };
    EXPECT_THAT(err_of(78, {"generate.max_new_tokens=40"}), HasSubstr("E-CFG-173"));
    EXPECT_THAT(err_of(78, {"generate.top_k=5"}), HasSubstr("E-CFG-105"));
    std::filesystem::remove(path() / "merges.txt");
    EXPECT_THAT(err_of(66, {}), HasSubstr("merges.txt: model.merges: cannot open: No such file"));
    EXPECT_THAT(err_of(66, {}), HasSubstr("huggingface-cli download gpt2"));
    std::filesystem::remove(path() / "config.json");
    EXPECT_THAT(err_of(66, {}), HasSubstr("config.json: model.config: cannot open: No such file"));
    EXPECT_THAT(err_of(66, {"model.weights=other/model.safetensors"}),
                HasSubstr("E-MOD-036]: other/model.safetensors: cannot open: No such file"));
}

TEST_F(Gpt2, CountsTextsWhoseScoresAreNotFinite) {
    const WeightBlob weights = gpt2::random_checkpoint(config(), 5);
    std::ranges::fill(gpt2_values(weights), 3e38F);
    write_checkpoint(path(), weights);

    const ProcessResult done = run(0, {"output.nonfinite=flag", "generate.token_log_probabilities=true"});

    EXPECT_EQ(done.exit_code, 0);
    EXPECT_THAT(done.err, HasSubstr("W-NUM-082"));
    EXPECT_THAT(done.err, HasSubstr(": 40 items with scores that are NaN or infinite"));
}

/// A Llama's checkpoint, with token ids for prompts.
class LlamaJob : public testing::Test {
protected:
    LlamaJob() : weights_(gpt2::random_checkpoint(small_llama_config(), 6)) {
        write_checkpoint(path(), weights_, "model.");
        write_file(path() / "ids.txt", "5 6 7\n\n250 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n");
        write_file(path() / "job.toml",
                   "app = \"gpt2\"\nmodel.weights = \"model.safetensors\"\noutput.path = \"texts.csv\"\n"
                   "input.path = \"ids.txt\"\n[run]\ndevice = \"host\"\ndevices = 1\n[generate]\n"
                   "max_prompt_tokens = 30\nmax_new_tokens = 12\nend_of_text = false\nprompts = \"ids\"\n");
    }

    [[nodiscard]] ProcessResult run(const std::vector<std::string>& settings) const {
        std::vector<std::string> words{"run", "job.toml", "--no-progress"};
        const std::vector<std::string> more = set(settings);
        words.insert(words.end(), more.begin(), more.end());
        return Process(launch_words(0, words, SLUICE_FAULTS_PROGRAM), {.folder = path()}).wait();
    }

    [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

    TemporaryFolder folder_;
    WeightBlob weights_;
};

TEST_F(LlamaJob, ContinuesPromptsAsThePlainFormulasDo) {
    const ProcessResult done = run({"generate.results=\"ids\""});

    ASSERT_EQ(done.exit_code, 0) << done.err;
    const std::vector<std::vector<std::string>> rows = csv_rows(contents(path() / "texts.csv"));
    ASSERT_EQ(rows.size(), 4U);
    const gpt2::Config config = small_llama_config();
    std::vector<std::vector<TokenId>> prompts{{5, 6, 7}, {config.begin.value()}, {250}};
    for (TokenId id = 1; id <= 18; ++id) {
        prompts[2].push_back(id);
    }
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        std::vector<TokenId> text = prompts[i];
        for (std::size_t t = 0; t < 12; ++t) {
            const std::vector<double> scores = plain_decoder_scores(config.shape, gpt2::weights_of(weights_), text);
            text.push_back(static_cast<TokenId>(std::ranges::max_element(scores) - scores.begin()));
            EXPECT_EQ(rows[i + 1][1 + t], std::to_string(text.back())) << i << ", token " << t;
        }
    }
}

TEST_F(LlamaJob, EndsTextsWhereItsGenerationConfigSaysIfThereIsOne) {
    const std::vector<std::string> rest{"generate.results=\"ids\"", "generate.end_of_text=true"};
    const auto rows_of = [&](const char* output) {
        std::vector<std::string> settings{fmt::format("output.path={}", output)};
        settings.insert(settings.end(), rest.begin(), rest.end());
        const ProcessResult done = run(settings);
        EXPECT_EQ(done.exit_code, 0) << done.err;
        return csv_rows(contents(path() / output));
    };
    const std::string second_token = rows_of("before.csv").at(1).at(2);
    ASSERT_NE(second_token, "") << "the text ends before";

    write_file(path() / "generation_config.json", fmt::format(R"({{"eos_token_id": [{}]}})", second_token));
    const std::vector<std::string> ended = rows_of("after.csv").at(1);

    EXPECT_NE(ended.at(1), "");
    EXPECT_EQ(ended.at(2), "");
    write_file(path() / "generation_config.json", R"({"eos_token_id": []})");
    const ProcessResult changed = run({"output.path=after.csv", rest[0], rest[1]});
    EXPECT_EQ(changed.exit_code, 65);
    EXPECT_THAT(changed.err, HasSubstr("generation_config.json: eos_token_id is []"));
    std::filesystem::remove(path() / "generation_config.json");
    write_file(path() / "other.json", fmt::format(R"({{"eos_token_id": {}}})", second_token));
    const ProcessResult named = run({"output.path=named.csv", "model.generation_config=other.json", rest[0], rest[1]});
    EXPECT_EQ(named.exit_code, 0) << named.err;
    EXPECT_EQ(csv_rows(contents(path() / "named.csv")).at(1), ended);
    std::filesystem::create_symlink("pruned", path() / "generation_config.json");
    const ProcessResult dangling = run({"output.path=dangling.csv", rest[0], rest[1]});
    EXPECT_EQ(dangling.exit_code, 66);
    EXPECT_THAT(dangling.err, HasSubstr("generation_config.json: model.generation_config: cannot open"));
}

/// Files of these names belong to other tokenizers too.
TEST_F(LlamaJob, WritesTextsByItsTokenizerOnly) {
    const ProcessResult refused = run({});
    EXPECT_EQ(refused.exit_code, 78);
    EXPECT_THAT(refused.err, HasSubstr("error[E-CFG-175]: model.tokenizer: there is no tokenizer.json beside the "
                                       "weights, and vocab.json and merges.txt do not say"));
    for (const char* const file : {"vocab.json", "merges.txt"}) {
        std::filesystem::remove(path() / file);
        EXPECT_EQ(run({}).err, refused.err) << "a hint to add it would be of no use";
    }

    write_file(path() / "tokenizer.json", llama_tokenizer_json().dump());
    const ProcessResult cramped =
        run({"generate.prompts=text", "generate.max_prompt_tokens=1", "generate.long_prompts=cut"});
    EXPECT_EQ(cramped.exit_code, 78);
    EXPECT_THAT(cramped.err,
                HasSubstr("error[E-CFG-176]: generate.max_prompt_tokens: got 1, and the tokenizer puts 1"));
    const ProcessResult done = run({});
    EXPECT_EQ(done.exit_code, 0) << done.err;
}

}  // namespace
}  // namespace sluice::test
