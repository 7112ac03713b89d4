#include "apps/classifier/classifier_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>

#include "apps/classifier/classifier_app.hpp"
#include "core/error.hpp"
#include "core/files/checksum.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/safetensors_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::classifier {
namespace {

std::vector<float> drawn_weights(std::uint64_t seed) {
    const WeightBlob blob = random_classifier_weights(seed);
    const std::span<const float> values = ClassifierWeights(blob).values();
    return {values.begin(), values.end()};
}

TEST(ClassifierWeights, LieWhereTheSeedsFileHasThem) {
    const WeightBlob blob = random_classifier_weights(1);
    const ClassifierWeights weights(blob);

    EXPECT_EQ(weights.values().size_bytes(), 47'632'400U);
    const auto offset = [&](const char* name) { return weights.tensor(name).data() - weights.values().data(); };
    EXPECT_EQ(offset("w_conv1"), 0);
    EXPECT_EQ(offset("beta_conv1"), 383744);
    EXPECT_EQ(offset("w_conv2"), 641792);
    EXPECT_EQ(offset("w_conv6"), 1691392);
    EXPECT_EQ(offset("gamma_conv6"), 1888256);
    EXPECT_EQ(offset("w_fc1"), 1940480);
    EXPECT_EQ(offset("b_fc3"), 11908096);
}

TEST(ClassifierWeights, DrawTheSameBitsFromASeedOnEveryMachine) {
    const auto weights = drawn_weights(17);

    std::uint64_t digest = 14695981039346656037U;  // FNV-1a over all values
    for (const float value : weights) {
        digest = (digest ^ std::bit_cast<std::uint32_t>(value)) * 1099511628211U;
    }
    EXPECT_EQ(digest, 213812609498081521U);
    EXPECT_NE(drawn_weights(18), weights);
}

TEST(ClassifierWeights, AreSpreadAsMeant) {
    const WeightBlob blob = random_classifier_weights(3);

    const auto tensor = ClassifierWeights(blob).tensor("w_conv2");
    double sum = 0;
    double squares = 0;
    for (const float value : tensor) {
        ASSERT_TRUE(std::isfinite(value));
        sum += value;
        squares += static_cast<double>(value) * value;
    }
    const double count = static_cast<double>(tensor.size());
    EXPECT_NEAR(sum / count, 0.0, 0.001);  // 458,752 draws: four standard errors are 0.0005
    EXPECT_NEAR(std::sqrt(squares / count) / std::sqrt(13.3 / 1792), 1.0, 0.01);
}

TEST(ClassifierWeights, ComeBackFromBothFileFormats) {
    const TemporaryFolder folder;
    const auto app = open_classifier(false);
    const std::vector<float> drawn = drawn_weights(5);
    const auto safetensors = folder.path() / "model.safetensors";
    const auto raw = folder.path() / "params.bin";
    test::write_safetensors(safetensors, classifier_tensors(), drawn);
    std::ofstream(raw, std::ios::binary)
        .write(reinterpret_cast<const char*>(drawn.data()), static_cast<std::streamsize>(drawn.size() * sizeof(float)));

    const auto is_the_same = [&](const WeightBlob& blob) {
        return std::ranges::equal(ClassifierWeights(blob).values(), drawn);
    };
    EXPECT_TRUE(is_the_same(app->read_weights(safetensors)));
    EXPECT_TRUE(is_the_same(app->read_weights(raw)));
}

/// A safetensors file of a small model, in a folder of its own.
class SmallClassifier : public testing::Test {
protected:
    std::string write(const ClassifierSizes& sizes, const std::map<std::string, std::string>& metadata = {}) {
        values_.resize(classifier_weight_count(sizes));
        std::iota(values_.begin(), values_.end(), 0.5F);
        const auto path = folder_.path() / "small.safetensors";
        test::write_safetensors(path, classifier_tensors(sizes), values_, metadata);
        return path.string();
    }
    std::string refusal_of_sizes(const ClassifierSizes& sizes) {
        try {
            (void)read_classifier_weights(write(sizes));
        } catch (const Error& error) {
            return std::string(error.text().id) + " " + error.text().what;
        }
        return "read";
    }
    std::string refusal_of_names(const std::string& labels) {
        try {
            (void)read_class_names(write(small, {{"labels", labels}}));
        } catch (const Error& error) {
            return error.text().id;
        }
        return "read";
    }

    static constexpr ClassifierSizes small{.channels = 64, .hidden = 3};
    TemporaryFolder folder_;
    std::vector<float> values_;
};

TEST_F(SmallClassifier, GetsItsSizesFromTheFile) {
    const WeightBlob blob = read_classifier_weights(write(small));

    const ClassifierWeights weights(blob);
    EXPECT_EQ(weights.sizes(), small);
    EXPECT_TRUE(std::ranges::equal(weights.values(), values_));
    EXPECT_EQ(weights.tensor("w_fc1").size(), 3U * 34 * 64);
    EXPECT_EQ(weights.tensor("b_fc3").back(), values_.back());
    EXPECT_EQ(open_classifier(false)->flop_per_item(blob),
              2.0 * 64 * 64 * (7 * 330 + 3 * (108 + 106 + 104 + 102)) + 2.0 * (34 * 64 * 3 + 3 * 3 + 3 * 4));
}

TEST_F(SmallClassifier, OfASizeThatNoKernelTakesIsRefused) {
    EXPECT_EQ(refusal_of_sizes({.channels = 96, .hidden = 8}),
              "E-MOD-047 tensor 'w_conv1': got 96 outputs, expected a multiple of 64 up to 1024");
    EXPECT_EQ(refusal_of_sizes({.channels = 64, .hidden = 0}),
              "E-MOD-047 tensor 'w_fc1': got 0 outputs, expected 1 up to 8192");
    EXPECT_EQ(refusal_of_sizes({.channels = 128, .hidden = 1}), "read");
}

/// Both tensors without values: a file of their real size would have a gibibyte.
TEST_F(SmallClassifier, HasAThousandChannelsAndEightThousandHiddenUnitsAtMost) {
    const auto refusal = [&](std::uint64_t channels, std::uint64_t hidden) {
        const auto path = folder_.path() / "empty.safetensors";
        test::write_safetensors(path, std::vector<TensorSpec>{{"w_conv1", {channels, 0}}, {"w_fc1", {hidden, 0}}}, {});
        return test::bad_data_of([&] { return read_classifier_weights(path); });
    };

    EXPECT_EQ(refusal(1024, 8192), "E-MOD-047 tensor 'w_conv1': got shape [1024,0], expected [1024,70,7]");
    EXPECT_EQ(refusal(1088, 8192),
              "E-MOD-047 tensor 'w_conv1': got 1088 outputs, expected a multiple of 64 up to 1024");
    EXPECT_EQ(refusal(1024, 8193), "E-MOD-047 tensor 'w_fc1': got 8193 outputs, expected 1 up to 8192");
}

TEST_F(SmallClassifier, RunsOnTheHostOnlyWhereItsSizesDoNotFitAGpu) {
    const WeightBlob blob = read_classifier_weights(write(small));

    EXPECT_EQ(open_classifier(false)->load(blob, Precision::fp32, DeviceKind::host)->lag(), 0U);
    const Error error =
        test::error_of([&] { return open_classifier(false)->load(blob, Precision::fp32, DeviceKind::cuda); });

    EXPECT_EQ(error.text().id, "E-CFG-109");
    EXPECT_EQ(error.text().what, "got 64 channels and 3 hidden units, but GPUs compute up to 256, and multiples of 8");
}

TEST_F(SmallClassifier, NamesItsClassesInItsMetadata) {
    const std::string labels = R"(["World","Sports","Business","Sci/Tech"])";

    EXPECT_EQ(read_class_names(write(small, {{"labels", labels}})),
              (std::vector<std::string>{"World", "Sports", "Business", "Sci/Tech"}));
    for (const char* bad :
         {"World,Sports,Business,Sci/Tech", R"(["a","b","c"])", R"(["a","b","c","d","e"])", R"(["a","b","c","a"])",
          R"(["a","b","c",""])", R"(["a","b","c",4])", R"({"a":1})", "", R"(["a","b","c","a\u0000"])"}) {
        EXPECT_EQ(refusal_of_names(bad), "E-MOD-058") << bad;
    }
    EXPECT_EQ(refusal_of_names(labels + '\0' + "other"), "E-MOD-058");
    EXPECT_THROW((void)read_class_names(write(small)), Error);
    const auto other = folder_.path() / "other.safetensors";
    test::write_safetensors(other, std::vector<TensorSpec>{{"w_conv1", {64, 70, 7}}}, std::vector<float>(64 * 70 * 7));
    EXPECT_EQ(test::error_of([&] { return read_class_names(other); }).text().id, "E-MOD-047") << "no classifier's";
}

// A run whose labels had other names would hold both.
TEST_F(SmallClassifier, WithOtherNamesIsAnotherModel) {
    const auto stamp = [&](const char* labels) {
        const WeightBlob blob = read_classifier_weights(write(small, {{"labels", labels}}));
        return checksum_of(std::as_bytes(blob.floats()));
    };

    EXPECT_EQ(stamp(R"(["a","b","c","d"])"), stamp(R"(["a","b","c","d"])"));
    EXPECT_NE(stamp(R"(["a","b","c","d"])"), stamp(R"(["a","b","d","c"])"));
}

TEST(ClassifierWeights, OfTheWrongSizeAreRefusedAtLoad) {
    const WeightBlob blob = WeightBlob::of_floats(3);

    EXPECT_THROW((void)open_classifier(false)->load(blob, Precision::fp32, DeviceKind::host), ContractViolation);
}

}  // namespace
}  // namespace sluice::classifier
