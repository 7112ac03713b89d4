#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <vector>

#include "kernels/cuda/decoder/choice/choose.hpp"
#include "kernels/host/token_draw.hpp"
#include "kernels/philox.hpp"
#include "tests/kernels/cuda/decoder_pieces.hpp"

/// A row of scores for each of some texts, and how tokens are chosen by them.
namespace sluice::test {

inline constexpr float infinity = std::numeric_limits<float>::infinity();

/// How close a draw of `token` from `scores`, with the penalty, came to another one, by the plain formulas.
inline TextDoubt plain_doubt(const TokenSampling& sampling, const std::vector<float>& scores, std::uint32_t token,
                             double uniform) {
    std::vector<std::uint32_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return scores[a] > scores[b]; });
    const auto value = [&](std::size_t rank) { return static_cast<double>(scores[order[rank]]); };
    if (sampling.temperature == 0) {
        return {.gap = order.size() < 2 ? infinity : static_cast<float>(value(0) - value(1))};
    }
    const auto weight = [&](std::size_t rank) {
        return std::exp((value(rank) - value(0)) / static_cast<double>(sampling.temperature));
    };
    std::size_t count = sampling.top_k == 0 ? order.size() : std::min<std::size_t>(sampling.top_k, order.size());
    double cut = std::numeric_limits<double>::infinity();
    if (sampling.top_p < 1) {
        double all = 0;
        for (std::size_t rank = 0; rank < count; ++rank) {
            all += weight(rank);
        }
        double left = static_cast<double>(sampling.top_p) * all;
        std::size_t kept = 0;
        while (left > weight(kept)) {
            left -= weight(kept++);
        }
        cut = std::min(left, weight(kept) - left) / all;
        count = kept + 1;
    }
    double all = 0;
    double sum = 0;     // up to the token
    double before = 0;  // up to the one before it
    double own = 0;
    bool is_last = true;
    double kept_before = std::numeric_limits<double>::infinity();
    double kept_behind = kept_before;
    double dropped_before = -kept_before;
    double dropped_behind = -kept_before;
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        const std::uint32_t place = order[rank];
        if (rank >= count) {
            double& largest = place < token ? dropped_before : dropped_behind;
            largest = std::max(largest, value(rank));
            continue;
        }
        all += weight(rank);
        sum += place <= token ? weight(rank) : 0;
        before += place < token ? weight(rank) : 0;
        is_last = is_last && place <= token;
        if (place == token) {
            own = value(rank);
        } else {
            double& least = place < token ? kept_before : kept_behind;
            least = std::min(least, value(rank));
        }
    }
    const double above = sum / all - uniform;
    const double below = uniform - before / all;
    const double least = value(count - 1);
    const double room = std::max(0.0, std::min(above, below) - 2 * weight(count - 1) / all);
    double distance = is_last ? std::numeric_limits<double>::infinity() : above;
    distance = before > 0 ? std::min(distance, below) : distance;
    double gap = std::numeric_limits<double>::infinity();
    if (count < order.size() || sampling.top_p < 1) {
        const double across = std::min(kept_before - dropped_behind, kept_behind - dropped_before);
        gap = std::min(std::max(across, room), own - std::max(dropped_before, dropped_behind));
        distance = sampling.top_p < 1 ? std::min(distance, std::max(cut, std::min(room, own - least))) : distance;
    }
    return {.distance = static_cast<float>(distance), .gap = static_cast<float>(gap)};
}

enum class Ties : std::uint8_t { none, some };

/// What is known of a row beside its scores.
enum class Known : std::uint8_t { nothing, sums };

/// Texts that have one token of a prompt, and results, for which scores are there.
class Choices {
public:
    Choices(const TokenSampling& sampling, std::uint32_t entries, std::uint32_t vocabulary, Ties ties = Ties::some,
            std::uint32_t seed = 0)
        : sampling_(sampling),
          vocabulary_(vocabulary),
          stride_((vocabulary + 7) / 8 * 8),
          pass_(std::vector<Pass::Spec>(entries, {0, 1})),
          in_(entries * decoder_io(sampling).input_bytes),
          out_(entries * decoder_io(sampling).output_bytes),
          choices_(entries * sampling.max_new * sizeof(ChoiceDoubt)),
          texts_(entries),
          scores_(random_values(std::size_t{entries} * stride_, 3, vocabulary + seed)) {
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
            if (ties == Ties::some) {
                scores_[std::size_t{i} * stride_ + (i * 5 + 2) % vocabulary] =
                    *std::max_element(row(i).begin(), row(i).end());
            }
        }
        in_.set(items);
        check_cuda(
            cudaMemcpy(pass_.memory().texts, texts_.data(), texts_.size() * sizeof(Text), cudaMemcpyHostToDevice),
            "cudaMemcpy");
        decoder::Batch batch;
        check_cuda(cudaMemcpy(&batch, pass_.memory().batch, sizeof batch, cudaMemcpyDeviceToHost), "cudaMemcpy");
        batch.in = in_.as<const std::byte>();
        batch.out = out_.as<std::byte>();
        batch.choices = choices_.as<ChoiceDoubt>();
        check_cuda(cudaMemcpy(pass_.memory().batch, &batch, sizeof batch, cudaMemcpyHostToDevice), "cudaMemcpy");
    }

    void choose(Known known = Known::nothing) {
        const DeviceMemory scores(bytes_in(scores_));
        const DeviceMemory sums(bytes_in(score_sums(MinusInfinity::spoils)));
        decoder::enqueue_choose(pass_.memory(), decoder::rule_of(sampling_),
                                {.scores = scores.as<float>(),
                                 .sums = known == Known::sums ? sums.as<decoder::ScoreSum>() : nullptr,
                                 .vocabulary = vocabulary_,
                                 .stride = stride_},
                                nullptr);
        read();
    }

    void take_best() {
        std::vector<decoder::TileBest> bests;
        const std::uint32_t tiles = (vocabulary_ + 255) / 256;
        for (std::uint32_t i = 0; i < texts_.size(); ++i) {
            for (std::uint32_t tile = 0; tile < tiles; ++tile) {
                const auto begin = row(i).begin() + tile * 256;
                const auto end = tile + 1 == tiles ? row(i).end() : begin + 256;
                decoder::TileBest best{-infinity, UINT32_MAX, -infinity};
                std::uint32_t mark = 0;
                for (auto score = begin; score != end; ++score) {
                    mark = std::isfinite(*score) ? mark : decoder::nonfinite_mark;
                    best.second = std::max(best.second, std::min(best.score, *score));
                    if (*score > best.score) {
                        best.score = *score;
                        best.place = static_cast<std::uint32_t>(score - row(i).begin());
                    }
                }
                best.place |= mark;
                bests.push_back(best);
            }
        }
        const DeviceMemory on_device(bytes_in(bests));
        const DeviceMemory sums(bytes_in(score_sums(MinusInfinity::adds_nothing)));
        decoder::enqueue_take_best(pass_.memory(), decoder::rule_of(sampling_),
                                   {.bests = on_device.as<decoder::TileBest>(),
                                    .tiles = tiles,
                                    .sums = sampling_.log_probabilities ? sums.as<decoder::ScoreSum>() : nullptr,
                                    .vocabulary = vocabulary_},
                                   nullptr);
        read();
    }

    /// By a product whose results are the scores, rounded to what its operands keep of them. `spoil` may change its
    /// sums.
    void draw_by_sums(
        Precision precision, MatrixInstructions way,
        const std::function<void(std::vector<decoder::ScoreSum>&)>& spoil = [](auto&) {}) {
        const auto entries = static_cast<std::uint32_t>(texts_.size());
        const std::uint32_t depth = (entries + 7) / 8 * 8;
        std::vector<float> identity(std::size_t{entries} * depth);
        std::vector<float> across(std::size_t{vocabulary_} * depth);
        for (std::uint32_t i = 0; i < entries; ++i) {
            identity[std::size_t{i} * depth + i] = 1;
            for (std::uint32_t token = 0; token < vocabulary_; ++token) {
                across[std::size_t{token} * depth + i] = scores_[std::size_t{i} * stride_ + token];
            }
        }
        const DeviceMemory rows(std::span<const std::byte>(test::encode_rows(precision, identity, depth)));
        const DeviceMemory weights(std::span<const std::byte>(test::encode_weights(precision, across, depth)));
        across = precision == Precision::fp16x2 ? test::decode_half_codes(weights.content(), depth)
                                                : test::floats_for_product(precision, weights, depth);
        for (std::uint32_t i = 0; i < entries; ++i) {
            for (std::uint32_t token = 0; token < vocabulary_; ++token) {
                scores_[std::size_t{i} * stride_ + token] = across[std::size_t{token} * depth + i];
            }
        }
        const bool takes_plain_sums = sampling_.log_probabilities && sampling_.temperature != 1;
        const DeviceMemory plain(std::size_t{entries} * decoder::groups_of(vocabulary_) * sizeof(float));
        float* const plain_sums = takes_plain_sums ? plain.as<float>() : nullptr;
        std::vector<decoder::ScoreSum> sums = sums_of_product(
            {.rows = entries, .columns = vocabulary_, .depth = depth, .temperature = sampling_.temperature}, precision,
            rows, weights, entries, way, nullptr, plain_sums);
        spoil(sums);
        const DeviceMemory on_device(bytes_in(sums));
        decoder::enqueue_draw(pass_.memory(), decoder::rule_of(sampling_), precision,
                              {.sums = on_device.as<decoder::ScoreSum>(), .plain_sums = plain_sums},
                              {.rows = rows.as(), .weights = weights.as(), .vocabulary = vocabulary_, .depth = depth},
                              nullptr);
        read();
    }

    [[nodiscard]] std::span<const float> row(std::uint32_t i) const {
        return std::span(scores_).subspan(std::size_t{i} * stride_, vocabulary_);
    }

    void set_score(std::uint32_t i, std::uint32_t token, float value) {
        scores_[std::size_t{i} * stride_ + token] = value;
    }
    /// To all scores.
    void add(const std::vector<float>& errors) {
        for (std::size_t i = 0; i < scores_.size(); ++i) {
            scores_[i] += errors[i];
        }
    }
    [[nodiscard]] std::size_t score_count() const { return scores_.size(); }
    [[nodiscard]] std::uint32_t token(std::uint32_t i) const { return texts_[i].last; }
    [[nodiscard]] const ChoiceDoubt& doubt(std::uint32_t i) const { return doubts_[i * sampling_.max_new]; }
    [[nodiscard]] float log_probability(std::uint32_t i) const {
        float value = 0;
        std::memcpy(&value,
                    &results_[i * decoder_io(sampling_).output_bytes + sizeof(ContinuationStart) +
                              sampling_.max_new * sizeof(std::uint32_t)],
                    sizeof value);
        return value;
    }

    /// As the formulas say, but for what fp32 rounds.
    void expect_plain_doubts() const {
        for (std::uint32_t i = 0; i < texts_.size(); ++i) {
            std::vector<float> scores(row(i).begin(), row(i).end());
            for (const std::uint32_t token : std::set{i % vocabulary_, (i * 3 + 1) % vocabulary_}) {
                float& score = scores[token];
                score = score > 0 ? score / sampling_.repetition_penalty : score * sampling_.repetition_penalty;
            }
            const TextDoubt expected = plain_doubt(sampling_, scores, token(i), static_cast<double>(uniform(i)));
            SCOPED_TRACE(testing::Message() << "text " << i << " of a vocabulary of " << vocabulary_);
            expect_near(doubt(i).doubt.distance, expected.distance);
            expect_near(doubt(i).doubt.gap, expected.gap);
            EXPECT_EQ(texts_[i].doubt, doubt(i).doubt);
        }
    }

    /// As the host chooses.
    void expect_hosts_tokens() {
        TokenDraw draw(sampling_, vocabulary_);
        for (std::uint32_t i = 0; i < texts_.size(); ++i) {
            const std::array<std::uint32_t, 2> prompt{i % vocabulary_, (i * 3 + 1) % vocabulary_};
            const std::uint32_t token = draw.choose(row(i), {prompt}, uniform(i));
            ASSERT_EQ(texts_[i].made, 1U) << i;
            ASSERT_EQ(texts_[i].last, token) << i << " of a vocabulary of " << vocabulary_;
            if (sampling_.log_probabilities) {
                const float got = log_probability(i);
                const float expected = draw.log_probability(row(i), token);
                if (std::isnan(expected)) {
                    EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(expected)) << i;
                } else {  // fp32 rounds the distance to the largest score, and the result
                    EXPECT_NEAR(got, expected, 1e-6F + 2e-7F * std::abs(expected)) << i;
                }
            }
        }
    }

private:
    /// Exponentials are those of fp32.
    static void expect_near(float got, float expected) {
        if (std::isinf(expected)) {
            EXPECT_EQ(got, expected);
        } else {
            EXPECT_NEAR(got, expected, 5e-6);
        }
    }

    /// What a score of minus infinity does to the sum of its group.
    enum class MinusInfinity : std::uint8_t { spoils, adds_nothing };

    [[nodiscard]] std::vector<decoder::ScoreSum> score_sums(MinusInfinity infinite) const {
        const auto temperature = static_cast<double>(decoder::temperature_of_sums(decoder::rule_of(sampling_)));
        std::vector<decoder::ScoreSum> sums;
        for (std::uint32_t i = 0; i < texts_.size(); ++i) {
            for (std::uint32_t first = 0; first < vocabulary_; first += decoder::group_tokens) {
                const auto group = row(i).subspan(first, std::min(decoder::group_tokens, vocabulary_ - first));
                float largest = -infinity;
                for (const float score : group) {
                    largest = std::fmax(largest, score);
                }
                double sum = 0;
                for (const float score : group) {
                    if (score == -infinity && infinite == MinusInfinity::adds_nothing) {
                        continue;
                    }
                    sum += std::isfinite(score) ? std::exp(static_cast<double>(score - largest) / temperature)
                                                : std::numeric_limits<double>::quiet_NaN();
                }
                sums.push_back({largest, static_cast<float>(sum)});
            }
        }
        return sums;
    }

    [[nodiscard]] float uniform(std::uint32_t i) const {
        return uniform_below_one(random_words(sampling_.seed, {.item = texts_[i].number, .number = 0}).words[0]);
    }

    void read() {
        check_cuda(
            cudaMemcpy(texts_.data(), pass_.memory().texts, texts_.size() * sizeof(Text), cudaMemcpyDeviceToHost),
            "cudaMemcpy");
        results_ = out_.content();
        doubts_.resize(texts_.size() * sampling_.max_new);
        std::memcpy(doubts_.data(), choices_.content().data(), doubts_.size() * sizeof(ChoiceDoubt));
    }

    TokenSampling sampling_;
    std::uint32_t vocabulary_;
    std::uint32_t stride_;
    Pass pass_;
    DeviceMemory in_;
    DeviceMemory out_;
    DeviceMemory choices_;
    std::vector<Text> texts_;
    std::vector<float> scores_;
    std::vector<std::byte> results_;
    std::vector<ChoiceDoubt> doubts_;
};

}  // namespace sluice::test
