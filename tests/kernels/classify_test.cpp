#include <algorithm>

#include "tests/kernels/layer_runner.hpp"

namespace sluice {
namespace {

/// Of scores that are the bias alone.
std::int32_t label_of(const std::vector<float>& scores, bool marks_nonfinite = false) {
    const ClassifyShape shape{
        .inputs = 1, .classes = static_cast<std::uint32_t>(scores.size()), .marks_nonfinite = marks_nonfinite};
    const auto layer = packed_layer(&DenseKernels::classify, shape, std::vector<float>(scores.size()), scores);
    const float one = 1;
    const auto out = run_layer(*layer, {1}, std::as_bytes(std::span(&one, 1)), 1);
    std::int32_t label = -1;
    std::memcpy(&label, out.data(), sizeof(label));
    return label;
}

TEST(Classify, TakesTheFirstMaximum) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();

    EXPECT_EQ(label_of({1, 2, 3, 0}), 2);
    EXPECT_EQ(label_of({5, 5, 5, 5}), 0);
    EXPECT_EQ(label_of({-2, -1, -1, -3}), 1);
    EXPECT_EQ(label_of({-0.0F, 0.0F}), 0);
    EXPECT_EQ(label_of({1, nan, 2, nan}), 2);
    EXPECT_EQ(label_of({7}), 0);
}

TEST(Classify, MarksALabelOfScoresThatAreNotFinite) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    constexpr float inf = std::numeric_limits<float>::infinity();

    EXPECT_EQ(label_of({1, 2, 3, 0}, true), 2);
    EXPECT_EQ(label_of({1, nan, 2}, true), 2 | nonfinite_mark);
    EXPECT_EQ(label_of({-inf, 2, 1}, true), 1 | nonfinite_mark);
    EXPECT_EQ(label_of({nan}, true), nonfinite_mark);
}

TEST(Classify, PutsTheScoresBehindTheLabel) {
    const std::vector<float> weights{1, 0, 10, 1};
    const std::vector<float> bias{0, -10};
    const auto layer =
        packed_layer(&DenseKernels::classify, ClassifyShape{.inputs = 2, .classes = 2, .scores = true}, weights, bias);
    const std::vector<float> in{1, 2, 4, -27};  // scores {1, 2} and {4, 3}

    const auto out = run_layer(*layer, {2}, std::as_bytes(std::span(in)), 2);

    struct Record {
        std::int32_t label;
        float scores[2];
    };
    Record records[2];
    ASSERT_EQ(out.size(), sizeof(records));
    std::memcpy(records, out.data(), sizeof(records));
    EXPECT_EQ(records[0].label, 1);
    EXPECT_EQ(records[0].scores[1], 2);
    EXPECT_EQ(records[1].label, 0);
    EXPECT_EQ(records[1].scores[0], 4);
}

}  // namespace
}  // namespace sluice
