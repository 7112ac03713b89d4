#include "apps/gpt2/gpt2_codec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/output/row_encoder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/gpt2_files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::gpt2 {
namespace {

constexpr std::uint32_t max_new = 5;
constexpr std::uint32_t vocabulary = 1000;

struct Continuation {
    std::vector<TokenId> tokens;
    std::vector<float> log_probabilities;  // as many
};

/// Of ids, with log-probabilities.
Options options_of(bool of_text, bool of_tokens) {
    Options options;
    options.sampling = {.max_prompt = 3, .max_new = max_new, .log_probabilities = of_text || of_tokens};
    options.takes_ids = true;
    options.gives_ids = true;
    options.gives_log_probability = of_text;
    options.gives_token_log_probabilities = of_tokens;
    return options;
}

Gpt2Codec codec_of(const Options& options) {
    return {options, std::nullopt, std::nullopt, vocabulary};
}

/// Of none, of one and of all tokens.
std::vector<Continuation> random_continuations() {
    std::mt19937 random(std::random_device{}());
    std::uniform_real_distribution<float> log_probability(-20, -0.01F);
    std::uniform_int_distribution<TokenId> token(1, vocabulary - 1);
    std::vector<Continuation> continuations;
    for (const std::size_t tokens : {0U, 1U, max_new}) {
        Continuation continuation;
        for (std::size_t i = 0; i < tokens; ++i) {
            continuation.tokens.push_back(token(random));
            continuation.log_probabilities.push_back(log_probability(random));
        }
        continuations.push_back(std::move(continuation));
    }
    return continuations;
}

/// Numbers behind a continuation's end are none of it.
std::vector<std::byte> record_of(const Gpt2Codec& codec, const Continuation& continuation) {
    std::vector<std::byte> record(codec.shape().output_bytes, std::byte{0x41});
    const ContinuationStart start{.tokens = static_cast<std::uint32_t>(continuation.tokens.size()), .prompt = 2};
    std::memcpy(record.data(), &start, sizeof start);
    std::ranges::copy(std::as_bytes(std::span(continuation.tokens)), record.begin() + sizeof start);
    const auto numbers = static_cast<std::ptrdiff_t>(sizeof start + max_new * sizeof(TokenId));
    std::ranges::copy(std::as_bytes(std::span(continuation.log_probabilities)), record.begin() + numbers);
    return record;
}

/// A file of these continuations and an item that is missing.
std::string file_of(OutputFormat format, const Gpt2Codec& codec, std::span<const Continuation> continuations) {
    std::vector<std::byte> results;
    for (const Continuation& continuation : continuations) {
        const std::vector<std::byte> record = record_of(codec, continuation);
        results.insert(results.end(), record.begin(), record.end());
    }
    const std::size_t present = results.size();
    results.resize(present + codec.shape().output_bytes);
    codec.write_missing(std::span(results).subspan(present));
    RowEncoder encoder(format, codec);
    const auto items = static_cast<std::uint32_t>(continuations.size() + 1);
    const RowEncoder::Rows rows = encoder.encode(0, items, results);
    EXPECT_EQ(rows.nonfinite, 0U);
    return encoder.header(items) + std::string(reinterpret_cast<const char*>(rows.bytes.data()), rows.bytes.size());
}

PromptStart start_of(const std::vector<std::byte>& item) {
    PromptStart start;
    std::memcpy(&start, item.data(), sizeof start);
    return start;
}

std::vector<TokenId> tokens_in(const std::vector<std::byte>& item) {
    std::vector<TokenId> tokens(start_of(item).tokens);
    std::memcpy(tokens.data(), item.data() + sizeof(PromptStart), tokens.size() * sizeof(TokenId));
    return tokens;
}

TEST(Gpt2Codec, TakesIdsOfTheVocabularyAlone) {
    const Gpt2Codec codec = codec_of(options_of(false, false));
    std::vector<std::byte> item(codec.shape().input_bytes);
    const auto packed = [&](const std::vector<std::int64_t>& row) {
        const std::string problem = codec.pack_integers(7, row, item).what;
        return problem.empty() ? fmt::format("{}", fmt::join(tokens_in(item), " ")) : problem;
    };

    EXPECT_EQ(codec.check_text("0 999").what, "");
    EXPECT_EQ(codec.check_text("0 1000").what, "'1000' is no token id, expected 0 to 999");
    EXPECT_EQ(codec.check_text("hello").what, "'hello' is no token id, expected 0 to 999");
    EXPECT_THAT(codec.check_text("hello").hint, testing::HasSubstr("generate.prompts"));
    EXPECT_EQ(codec.check_text("12x").what, "'12x' is no token id, expected 0 to 999");
    EXPECT_EQ(packed({0, 999, 5}), "0 999 5");
    EXPECT_EQ(packed({0, 999, -1}), "0 999");
    EXPECT_EQ(packed({5, -1, -100}), "5");
    EXPECT_EQ(packed({5, 1000, -1}), "column 1 is 1000, expected a token id, 0 to 999");
    EXPECT_EQ(packed({5, -1, 6}), "column 2 is 6, behind a negative number, which ends the prompt");
    EXPECT_EQ(packed({5, -1, 0}), "column 2 is 0, behind a negative number, which ends the prompt");
    EXPECT_EQ(packed({INT64_MAX, 1, 2}),
              "column 0 is 9223372036854775807 or more, expected a token id, 0 to 999");  // files have larger types
}

/// A codec of texts with the tokenizer of tests/support/gpt2_files.hpp.
class TextCodec : public testing::Test {
protected:
    TextCodec() {
        test::write_file(folder_.path() / "tokenizer.json", test::tokenizer_json().dump());
        options_.takes_ids = options_.gives_ids = false;
        options_.sampling.max_prompt = 4;
    }

    [[nodiscard]] Gpt2Codec codec(std::uint32_t of_model = vocabulary) const {
        return {options_, Tokenizer::from_json(folder_.path() / "tokenizer.json"), std::nullopt, of_model};
    }

    [[nodiscard]] std::string decoded(const std::vector<TokenId>& tokens) const {
        const Gpt2Codec of_texts = codec();
        TextRow row;
        of_texts.decode(record_of(of_texts, {.tokens = tokens, .log_probabilities = {}}), row);
        return row.text_taken;
    }

    TemporaryFolder folder_;
    Options options_ = options_of(false, false);

private:
    struct TextRow final : Row {
        void int32(std::int32_t) override {}
        void float32(float) override {}
        void text(std::string_view bytes) override { text_taken = bytes; }
        void missing() override {}
        void fixed(std::span<const std::byte>) override {}

        std::string text_taken;
    };
};

TEST_F(TextCodec, RefusesTextsThatTheModelHasNoTokensFor) {
    EXPECT_EQ(codec().check_text("the").what, "");
    EXPECT_EQ(codec().check_text("").what, "the prompt is empty, and config.json has no bos_token_id to begin with");
    EXPECT_EQ(codec(257).check_text("th").what, "");
    EXPECT_EQ(codec(257).check_text("the").what,
              "the tokenizer gives token 257, and the model has 257: they are not of one model");
    std::vector<std::byte> item(codec().shape().input_bytes);
    EXPECT_EQ(codec().pack_integers(0, std::vector<std::int64_t>{1, 2, 3, 4}, item).what,
              "numbers are token ids, and generate.prompts says \"text\"");
}

TEST_F(TextCodec, EndsATextBeforeTheFirstOfAllStops) {
    options_.stops = {"ft", "he", "x"};

    EXPECT_EQ(decoded({257, ' ', 'f', 't'}), "t");
    EXPECT_EQ(decoded({'a', 'f', 't', 'h', 'e'}), "a");
    EXPECT_EQ(decoded({'h', 't', 'e'}), "hte");
}

TEST_F(TextCodec, WritesAReplacementForATokenThatItsTokenizerDoesNotHave) {
    EXPECT_EQ(decoded({257, 260, 'a'}), "the\uFFFDa");
}

TEST(Gpt2Codec, BeginsTextsAsTheirTokenizerSays) {
    TemporaryFolder folder;
    test::write_file(folder.path() / "tokenizer.json", test::llama_tokenizer_json().dump());
    Options options = options_of(false, false);
    options.sampling.max_prompt = 4;
    options.takes_ids = false;
    options.cuts_prompts = true;
    const auto codec = [&] {
        return Gpt2Codec(options, Tokenizer::from_json(folder.path() / "tokenizer.json"), std::nullopt, vocabulary);
    };
    const auto prompt_of = [&](std::string_view text) {
        std::vector<std::byte> record(codec().shape().input_bytes, std::byte{0x41});
        codec().encode(7, text, record);
        return std::pair(tokens_in(record), start_of(record).is_cut);
    };
    constexpr TokenId begin = 258;
    constexpr TokenId the = 257;

    EXPECT_EQ(prompt_of(""), std::pair(std::vector<TokenId>{begin}, 0U));
    EXPECT_EQ(prompt_of("theab"), std::pair(std::vector<TokenId>{begin, the, 'a', 'b'}, 0U));
    EXPECT_EQ(prompt_of("xtheab"), std::pair(std::vector<TokenId>{begin, the, 'a', 'b'}, 1U));
    options.cuts_prompts = false;
    EXPECT_EQ(codec().check_text("abc").what, "");
    EXPECT_EQ(codec().check_text("abcd").what,
              "the prompt has 5 tokens, expected at most generate.max_prompt_tokens = 4");
    EXPECT_THAT(codec().check_text("abcd").hint, testing::HasSubstr("raise generate.max_prompt_tokens"));
}

TEST(Gpt2Codec, GivesTheLogProbabilityOfEachTokenAsAnArrayBesideTheIds) {
    const std::vector<Continuation> continuations = random_continuations();

    const std::string file = file_of(OutputFormat::jsonl, codec_of(options_of(true, true)), continuations);

    std::size_t begin = 0;
    for (std::size_t item = 0; item <= continuations.size(); ++item) {
        const std::size_t end = file.find('\n', begin);
        const nlohmann::json row = nlohmann::json::parse(file.substr(begin, end - begin));
        begin = end + 1;
        const auto& numbers = row.at("token_log_probabilities");
        ASSERT_EQ(numbers.size(), max_new);
        ASSERT_EQ(row.at("tokens").size(), max_new);
        double sum = 0;
        for (std::size_t t = 0; t < max_new; ++t) {
            const bool is_there = item < continuations.size() && t < continuations[item].tokens.size();
            ASSERT_EQ(numbers[t].is_number(), is_there);
            ASSERT_EQ(row.at("tokens")[t].is_number(), is_there);
            if (is_there) {
                EXPECT_EQ(numbers[t].get<float>(), continuations[item].log_probabilities[t]);
                sum += numbers[t].get<double>();
            }
        }
        if (item < continuations.size()) {
            EXPECT_NEAR(row.at("log_probability").get<double>(), sum, 1e-5);  // shortest decimals of fp32 below 100
        } else {
            EXPECT_TRUE(row.at("log_probability").is_null());
        }
    }
    EXPECT_EQ(begin, file.size());
}

TEST(Gpt2Codec, GivesTheLogProbabilityOfEachTokenInAColumnOfItsOwn) {
    const std::vector<Continuation> continuations{{.tokens = {7, 9}, .log_probabilities = {-0.5F, -1.25F}}};

    EXPECT_EQ(file_of(OutputFormat::csv, codec_of(options_of(false, true)), continuations),
              "item,token_0,token_1,token_2,token_3,token_4,prompt_tokens,new_tokens,token_log_probability_0,"
              "token_log_probability_1,token_log_probability_2,token_log_probability_3,token_log_probability_4\n"
              "0,7,9,,,,2,2,-0.5,-1.25,,,\n"
              "1,,,,,,,,,,,,\n");
}

TEST(Gpt2Codec, GivesLogProbabilitiesOfTokensAsAnArrayWithNanBehindTheEnd) {
    const std::vector<Continuation> continuations = random_continuations();

    const std::string file = file_of(OutputFormat::npy, codec_of(options_of(false, true)), continuations);

    EXPECT_THAT(file, testing::HasSubstr("[('token', '<i4', (5,)), ('prompt_tokens', '<i4'), ('new_tokens', '<i4'), "
                                         "('token_log_probability', '<f4', (5,))]"));
    struct Record {
        std::array<std::int32_t, max_new> tokens;
        std::array<std::int32_t, 2> counts;
        std::array<float, max_new> log_probabilities;
    };
    std::vector<Record> records(continuations.size() + 1);
    ASSERT_GT(file.size(), records.size() * sizeof(Record));
    std::memcpy(records.data(), file.data() + file.size() - records.size() * sizeof(Record),
                records.size() * sizeof(Record));
    for (std::size_t item = 0; item < records.size(); ++item) {
        for (std::size_t t = 0; t < max_new; ++t) {
            const float value = records[item].log_probabilities[t];
            if (item < continuations.size() && t < continuations[item].tokens.size()) {
                EXPECT_EQ(value, continuations[item].log_probabilities[t]);
            } else {
                EXPECT_TRUE(std::isnan(value)) << item << ' ' << t;
            }
        }
    }
}

/// Whoever reads an output need not ask for the job's limit first.
TEST(Gpt2Codec, GivesAnArrayOfOneTokenToo) {
    Options options = options_of(false, true);
    options.sampling.max_new = 1;
    const Gpt2Codec codec = codec_of(options);

    EXPECT_EQ(file_of(OutputFormat::csv, codec, {}),
              "item,token_0,prompt_tokens,new_tokens,token_log_probability_0\n0,,,,\n");
    EXPECT_EQ(file_of(OutputFormat::jsonl, codec, {}),
              "{\"item\":0,\"tokens\":[null],\"prompt_tokens\":null,\"new_tokens\":null,"
              "\"token_log_probabilities\":[null]}\n");
    EXPECT_THAT(file_of(OutputFormat::npy, codec, {}),
                testing::HasSubstr("[('token', '<i4', (1,)), ('prompt_tokens', '<i4'), ('new_tokens', '<i4'), "
                                   "('token_log_probability', '<f4', (1,))]"));
}

TEST(Gpt2Codec, WritesLogProbabilitiesOnlyWhereTheyAreComputed) {
    Options options = options_of(false, true);
    options.sampling.log_probabilities = false;

    EXPECT_THROW(codec_of(options), ContractViolation);
    const std::vector<Continuation> continuations{{.tokens = {7}, .log_probabilities = {-0.5F}}};
    EXPECT_EQ(file_of(OutputFormat::csv, codec_of(options_of(true, false)), continuations),
              "item,token_0,token_1,token_2,token_3,token_4,prompt_tokens,new_tokens,log_probability\n"
              "0,7,,,,,2,1,-0.5\n"
              "1,,,,,,,,\n");
}

}  // namespace
}  // namespace sluice::gpt2
