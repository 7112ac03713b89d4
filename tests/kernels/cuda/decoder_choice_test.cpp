#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "kernels/cuda/decoder/choose.hpp"
#include "kernels/cuda/decoder/float_product.hpp"
#include "kernels/doubt_bounds.hpp"
#include "kernels/host/token_draw.hpp"
#include "kernels/philox.hpp"
#include "tests/kernels/cuda/decoder_pieces.hpp"

namespace sluice {
namespace {

using decoder::Text;
using test::bytes_in;
using test::DecoderPiecesOnGpu;
using test::Pass;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// How close a draw of `token` from `scores`, with the penalty, came to another one, by the plain formulas.
TextDoubt plain_doubt(const TokenSampling& sampling, const std::vector<float>& scores, std::uint32_t token,
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

    void choose() {
        const DeviceMemory scores(bytes_in(scores_));
        decoder::enqueue_choose(pass_.memory(), decoder::rule_of(sampling_), scores.as<float>(), vocabulary_, stride_,
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
        decoder::enqueue_take_best(pass_.memory(), decoder::rule_of(sampling_), on_device.as<decoder::TileBest>(),
                                   tiles, nullptr);
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
        const DeviceMemory rows = operand(precision, identity, depth);
        const DeviceMemory weights = operand(precision, across, depth);
        across = test::floats_for_product(precision, weights, depth);
        for (std::uint32_t i = 0; i < entries; ++i) {
            for (std::uint32_t token = 0; token < vocabulary_; ++token) {
                scores_[std::size_t{i} * stride_ + token] = across[std::size_t{token} * depth + i];
            }
        }
        DeviceMemory on_device(std::size_t{entries} * decoder::score_sums_of(vocabulary_) * sizeof(decoder::ScoreSum));
        const DeviceMemory count(std::as_bytes(std::span(&entries, 1)));
        decoder::FloatProduct(
            {.rows = entries, .columns = vocabulary_, .depth = depth, .temperature = sampling_.temperature}, precision,
            {.a = rows.as(),
             .b = weights.as(),
             .bias = nullptr,
             .residual = nullptr,
             .out = nullptr,
             .stride = 0,
             .score_sums = on_device.as<decoder::ScoreSum>(),
             .active = count.as<std::uint32_t>()},
            way)
            .enqueue(nullptr);
        std::vector<decoder::ScoreSum> sums(std::size_t{entries} * decoder::score_sums_of(vocabulary_));
        std::memcpy(sums.data(), on_device.content().data(), sums.size() * sizeof sums[0]);
        spoil(sums);
        on_device.set(bytes_in(sums));
        decoder::enqueue_draw(pass_.memory(), decoder::rule_of(sampling_), precision, on_device.as<decoder::ScoreSum>(),
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
                float got = 0;
                std::memcpy(&got,
                            &results_[i * decoder_io(sampling_).output_bytes + sizeof(ContinuationStart) +
                                      sampling_.max_new * sizeof(std::uint32_t)],
                            sizeof got);
                const float expected = draw.log_probability(row(i), token);
                if (std::isnan(expected)) {
                    EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(expected)) << i;
                } else {
                    EXPECT_NEAR(got, expected, 1e-6) << i;
                }
            }
        }
    }

private:
    static DeviceMemory operand(Precision precision, std::span<const float> values, std::uint32_t depth) {
        return DeviceMemory(std::span<const std::byte>(precision == Precision::tf32x3
                                                           ? encode_half_parts(values, depth, "scores")
                                                           : encode(precision, values, depth)));
    }

    /// Exponentials are those of fp32.
    static void expect_near(float got, float expected) {
        if (std::isinf(expected)) {
            EXPECT_EQ(got, expected);
        } else {
            EXPECT_NEAR(got, expected, 5e-6);
        }
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

TEST_F(DecoderPiecesOnGpu, TokensAreChosenAsTheHostChoosesThem) {
    const TokenSampling rules[] = {
        {.max_prompt = 2, .max_new = 2, .temperature = 0, .log_probabilities = true},
        {.max_prompt = 2, .max_new = 2, .repetition_penalty = 1.5F, .temperature = 0},
        {.max_prompt = 2, .max_new = 2, .seed = 3, .log_probabilities = true},
        {.max_prompt = 2, .max_new = 2, .temperature = 0.7F, .top_k = 5, .seed = 4},
        {.max_prompt = 2, .max_new = 2, .temperature = 1.5F, .top_p = 0.9F, .seed = 5},
        {.max_prompt = 2, .max_new = 2, .temperature = 0.3F, .top_p = 0.9F, .seed = 6},  // of few tokens
        {.max_prompt = 2, .max_new = 2, .temperature = 0.8F, .top_k = 50, .top_p = 0.95F, .seed = 7},
        {.max_prompt = 2, .max_new = 2, .temperature = 0.8F, .top_k = 150, .seed = 8},
        {.max_prompt = 2, .max_new = 2, .temperature = 20, .top_p = 0.9F, .seed = 9},  // of most
        {.max_prompt = 2, .max_new = 2, .repetition_penalty = 1.2F, .temperature = 0.9F, .top_k = 40, .top_p = 0.7F},
        {.max_prompt = 2, .max_new = 2, .temperature = 90, .top_k = 2500, .top_p = 0.8F},   // scores share few bins
        {.max_prompt = 2, .max_new = 2, .temperature = 0.01F, .top_k = 30, .top_p = 0.6F},  // or lie beyond the last
    };
    for (const TokenSampling& rule : rules) {
        for (const std::uint32_t vocabulary : {11U, 255U, 1000U, 3001U, 50'257U}) {
            Choices choices(rule, 40, vocabulary);

            choices.choose();

            choices.expect_hosts_tokens();
            choices.expect_plain_doubts();
        }
    }
}

TEST_F(DecoderPiecesOnGpu, TheLargestScoreIsFoundAmongTiles) {
    for (const std::uint32_t vocabulary : {11U, 256U, 3001U, 10'000U}) {
        Choices choices({.max_prompt = 2, .max_new = 2, .temperature = 0}, 40, vocabulary);

        choices.take_best();

        choices.expect_hosts_tokens();
        choices.expect_plain_doubts();
    }
}

TEST_F(DecoderPiecesOnGpu, TokensAreDrawnBySumsOfScores) {
    for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3}) {
        for (const MatrixInstructions way : ways()) {
            if (precision == Precision::tf32x3 && way == MatrixInstructions::mma) {
                continue;  // which it does not have
            }
            for (const float temperature : {1e-40F, 0.3F, 1.0F, 20.0F}) {
                const TokenSampling rule{.max_prompt = 2, .max_new = 2, .temperature = temperature, .seed = 9};
                for (const std::uint32_t vocabulary : {1U, 11U, 64U, 65U, 255U, 3001U, 50'257U}) {
                    SCOPED_TRACE(testing::Message() << name_of(way) << ", precision " << static_cast<int>(precision)
                                                    << ", temperature " << temperature);
                    Choices choices(rule, 40, vocabulary);

                    choices.draw_by_sums(precision, way);

                    choices.expect_hosts_tokens();
                    if (temperature >= 1) {  // else tokens behind the drawn one may weigh nothing, and count as none
                        choices.expect_plain_doubts();
                    }
                }
            }
        }
    }
}

TEST_F(DecoderPiecesOnGpu, ADrawByASumThatIsNoNumberIsDoubtful) {
    Choices choices({.max_prompt = 2, .max_new = 2}, 3, 700);

    choices.draw_by_sums(Precision::bf16, gpu().instructions(), [](std::vector<decoder::ScoreSum>& sums) {
        sums[decoder::score_sums_of(700) + 10].sum = NAN;  // the last one of the second text
    });

    for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(std::isnan(choices.doubt(i).doubt.distance), i == 1) << i;
    }
    EXPECT_EQ(choices.token(1), 0U);
}

/// A NaN counts as minus infinity, drawn or not; where the largest score is infinite, the first that has it is taken.
/// No such text is certain.
TEST_F(DecoderPiecesOnGpu, ScoresThatAreNoNumbersAreTakenAsTheHostTakesThem) {
    constexpr std::uint32_t vocabulary = 700;
    const TokenSampling greedy{.max_prompt = 2, .max_new = 2, .temperature = 0};
    const TokenSampling drawn{.max_prompt = 2, .max_new = 2, .seed = 3, .log_probabilities = true};
    const TokenSampling cut{.max_prompt = 2, .max_new = 2, .temperature = 1.2F, .top_k = 50, .top_p = 0.9F};
    const TokenSampling punished{.max_prompt = 2, .max_new = 2, .repetition_penalty = 1.5F, .temperature = 3};
    for (const auto& [sampling, by_tiles] : {std::pair(greedy, false), std::pair(greedy, true), std::pair(drawn, false),
                                             std::pair(cut, false), std::pair(punished, false)}) {
        SCOPED_TRACE(testing::Message() << "temperature " << sampling.temperature << ", top_k " << sampling.top_k);
        Choices choices(sampling, 5, vocabulary);
        choices.set_score(0, 0, NAN);
        choices.set_score(1, 600, NAN);
        choices.set_score(2, 300, infinity);
        choices.set_score(2, 600, infinity);
        for (std::uint32_t token = 0; token < vocabulary; ++token) {
            choices.set_score(3, token, token == 400 ? -infinity : NAN);
        }

        if (by_tiles) {
            choices.take_best();
        } else {
            choices.choose();
        }

        choices.expect_hosts_tokens();
        for (std::uint32_t i = 0; i < 5; ++i) {
            EXPECT_EQ(std::isnan(choices.doubt(i).doubt.gap), i < 4) << i;
            EXPECT_EQ(std::isnan(choices.doubt(i).doubt.distance), i < 4) << i;
        }
        EXPECT_EQ(choices.token(2), 300U);
        EXPECT_EQ(choices.token(3), 0U);
    }
}

TEST_F(DecoderPiecesOnGpu, ChoicesAmongOtherTokensAreToldApart) {
    const TokenSampling rule{.max_prompt = 2, .max_new = 2, .temperature = 0.9F, .top_k = 20, .seed = 8};
    TokenSampling wider = rule;
    wider.top_k = 21;
    Choices choices(rule, 40, 1000);
    Choices again(rule, 40, 1000);
    Choices of_more(wider, 40, 1000);

    choices.choose();
    again.choose();
    of_more.choose();

    for (std::uint32_t i = 0; i < 40; ++i) {
        EXPECT_EQ(choices.doubt(i).kept, again.doubt(i).kept);
        EXPECT_NE(choices.doubt(i).kept, of_more.doubt(i).kept);
    }
}

/// Errors as rounding makes them: no choice that they change is certain by the bounds that follow from the others.
TEST_F(DecoderPiecesOnGpu, ChoicesThatErrorsChangeAreInDoubt) {
    constexpr std::uint32_t entries = 1000;
    constexpr std::uint32_t vocabulary = 300;
    constexpr std::uint32_t samples = 4;
    for (const TokenSampling& rule :
         {TokenSampling{.max_prompt = 2, .max_new = 2, .temperature = 0}, TokenSampling{.max_prompt = 2, .max_new = 2},
          TokenSampling{.max_prompt = 2, .max_new = 2, .temperature = 0.7F, .top_k = 30, .seed = 4},
          TokenSampling{.max_prompt = 2, .max_new = 2, .temperature = 0.9F, .top_p = 0.9F, .seed = 5},
          TokenSampling{.max_prompt = 2, .max_new = 2, .temperature = 0.9F, .top_k = 40, .top_p = 0.8F, .seed = 6}}) {
        SCOPED_TRACE(testing::Message() << "temperature " << rule.temperature << ", top_k " << rule.top_k);
        std::vector<SeenDoubts> seen;
        std::vector<TextDoubt> differing;
        for (std::uint32_t sample = 0; sample < samples; ++sample) {
            Choices exact(rule, entries, vocabulary, Ties::none, sample);
            Choices fast(rule, entries, vocabulary, Ties::none, sample);
            fast.add(random_values(fast.score_count(), 3e-3F, sample + 9));

            exact.choose();
            fast.choose();

            for (std::uint32_t i = 0; i < entries; ++i) {
                if (fast.token(i) != exact.token(i)) {
                    differing.push_back(fast.doubt(i).doubt);
                } else if (fast.doubt(i).kept == exact.doubt(i).kept) {
                    seen.push_back({.fast = fast.doubt(i).doubt, .exact = exact.doubt(i).doubt});
                }
            }
        }
        const TextDoubt bounds = calibrate_doubts(seen);
        const auto certain = [&](const TextDoubt& doubt) {
            return doubt.distance >= bounds.distance && doubt.gap >= bounds.gap;
        };
        EXPECT_GT(differing.size(), 0U);
        EXPECT_EQ(std::ranges::count_if(differing, certain), 0);
        const auto sure = std::ranges::count_if(seen, [&](const SeenDoubts& one) { return certain(one.fast); });
        EXPECT_GT(sure, entries * samples / 2);
    }
}

}  // namespace
}  // namespace sluice
