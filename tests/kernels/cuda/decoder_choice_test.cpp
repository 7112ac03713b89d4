#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernels/cuda/decoder/choose.hpp"
#include "kernels/cuda/decoder/float_product.hpp"
#include "kernels/host/token_draw.hpp"
#include "kernels/philox.hpp"
#include "tests/kernels/cuda/decoder_pieces.hpp"

namespace sluice {
namespace {

using decoder::Text;
using test::bytes_in;
using test::DecoderPiecesOnGpu;
using test::Pass;

/// Texts that have one token of a prompt, and results, for which scores are there.
class Choices {
public:
    Choices(const TokenSampling& sampling, std::uint32_t entries, std::uint32_t vocabulary)
        : sampling_(sampling),
          vocabulary_(vocabulary),
          stride_((vocabulary + 7) / 8 * 8),
          pass_(std::vector<Pass::Spec>(entries, {0, 1})),
          in_(entries * decoder_io(sampling).input_bytes),
          out_(entries * decoder_io(sampling).output_bytes),
          texts_(entries),
          scores_(random_values(std::size_t{entries} * stride_, 3, vocabulary)) {
        std::vector<std::byte> items(in_.content().size());
        for (std::uint32_t i = 0; i < entries; ++i) {
            const PromptStart start{.number = 1000 + i, .tokens = 2};
            const std::array<std::uint32_t, 2> prompt{i % vocabulary, (i * 3 + 1) % vocabulary};
            std::byte* const item = &items[i * decoder_io(sampling).input_bytes];
            std::memcpy(item, &start, sizeof start);
            std::memcpy(item + sizeof start, prompt.data(), sizeof prompt);
            texts_[i] = {.number = start.number, .item = i, .prompt = 2, .pages = 1};
            for (const std::uint32_t token : prompt) {  // as likely as may be: what is punished shows
                scores_[std::size_t{i} * stride_ + token] += 6;
            }
            scores_[std::size_t{i} * stride_ + (i * 5 + 2) % vocabulary] =
                *std::max_element(row(i).begin(), row(i).end());  // ties
        }
        in_.set(items);
        check_cuda(
            cudaMemcpy(pass_.memory().texts, texts_.data(), texts_.size() * sizeof(Text), cudaMemcpyHostToDevice),
            "cudaMemcpy");
        decoder::Batch batch;
        check_cuda(cudaMemcpy(&batch, pass_.memory().batch, sizeof batch, cudaMemcpyDeviceToHost), "cudaMemcpy");
        batch.in = in_.as<const std::byte>();
        batch.out = out_.as<std::byte>();
        check_cuda(cudaMemcpy(pass_.memory().batch, &batch, sizeof batch, cudaMemcpyHostToDevice), "cudaMemcpy");
    }

    void choose() {
        const DeviceMemory scores(bytes_in(scores_));
        decoder::enqueue_choose(pass_.memory(), decoder::rule_of(sampling_), scores.as<float>(), vocabulary_, stride_,
                                nullptr);
        read();
    }

    void take_best() {
        std::vector<decoder::TileBest> bests;
        const std::uint32_t tiles = decoder::float_product_tiles(vocabulary_, Precision::tf32);
        for (std::uint32_t i = 0; i < texts_.size(); ++i) {
            for (std::uint32_t tile = 0; tile < tiles; ++tile) {
                const auto begin = row(i).begin() + tile * 256;
                const auto end = tile + 1 == tiles ? row(i).end() : begin + 256;
                const auto best = std::max_element(begin, end);
                bests.push_back({*best, static_cast<std::uint32_t>(best - row(i).begin())});
            }
        }
        const DeviceMemory on_device(bytes_in(bests));
        decoder::enqueue_take_best(pass_.memory(), decoder::rule_of(sampling_), on_device.as<decoder::TileBest>(),
                                   tiles, nullptr);
        read();
    }

    [[nodiscard]] std::span<const float> row(std::uint32_t i) const {
        return std::span(scores_).subspan(std::size_t{i} * stride_, vocabulary_);
    }

    /// As the host chooses.
    void expect_hosts_tokens() {
        TokenDraw draw(sampling_, vocabulary_);
        for (std::uint32_t i = 0; i < texts_.size(); ++i) {
            const std::array<std::uint32_t, 2> prompt{i % vocabulary_, (i * 3 + 1) % vocabulary_};
            const float uniform =
                uniform_below_one(random_words(sampling_.seed, {.item = texts_[i].number, .number = 0}).words[0]);
            const std::uint32_t token = draw.choose(row(i), {prompt}, uniform);
            ASSERT_EQ(texts_[i].made, 1U) << i;
            ASSERT_EQ(texts_[i].last, token) << i << " of a vocabulary of " << vocabulary_;
            if (sampling_.log_probabilities) {
                float got = 0;
                std::memcpy(&got,
                            &results_[i * decoder_io(sampling_).output_bytes + sizeof(ContinuationStart) +
                                      sampling_.max_new * sizeof(std::uint32_t)],
                            sizeof got);
                EXPECT_NEAR(got, draw.log_probability(row(i), token), 1e-6) << i;
            }
        }
    }

private:
    void read() {
        check_cuda(
            cudaMemcpy(texts_.data(), pass_.memory().texts, texts_.size() * sizeof(Text), cudaMemcpyDeviceToHost),
            "cudaMemcpy");
        results_ = out_.content();
    }

    TokenSampling sampling_;
    std::uint32_t vocabulary_;
    std::uint32_t stride_;
    Pass pass_;
    DeviceMemory in_;
    DeviceMemory out_;
    std::vector<Text> texts_;
    std::vector<float> scores_;
    std::vector<std::byte> results_;
};

TEST_F(DecoderPiecesOnGpu, TokensAreChosenAsTheHostChoosesThem) {
    const TokenSampling rules[] = {
        {.max_prompt = 2, .max_new = 2, .temperature = 0, .log_probabilities = true},
        {.max_prompt = 2, .max_new = 2, .repetition_penalty = 1.5F, .temperature = 0},
        {.max_prompt = 2, .max_new = 2, .seed = 3, .log_probabilities = true},
        {.max_prompt = 2, .max_new = 2, .temperature = 0.7F, .top_k = 5, .seed = 4},
        {.max_prompt = 2, .max_new = 2, .temperature = 1.5F, .top_p = 0.9F, .seed = 5},
        {.max_prompt = 2, .max_new = 2, .repetition_penalty = 1.2F, .temperature = 0.9F, .top_k = 40, .top_p = 0.7F},
    };
    for (const TokenSampling& rule : rules) {
        for (const std::uint32_t vocabulary : {11U, 1000U, 3001U}) {
            Choices choices(rule, 40, vocabulary);

            choices.choose();

            choices.expect_hosts_tokens();
        }
    }
}

TEST_F(DecoderPiecesOnGpu, TheLargestScoreIsFoundAmongTiles) {
    for (const std::uint32_t vocabulary : {11U, 256U, 3001U, 10'000U}) {
        Choices choices({.max_prompt = 2, .max_new = 2, .temperature = 0}, 40, vocabulary);

        choices.take_best();

        choices.expect_hosts_tokens();
    }
}

}  // namespace
}  // namespace sluice
