#include "apps/classifier/classifier_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>

#include "apps/classifier/classifier_app.hpp"
#include "core/error.hpp"
#include "tests/support/safetensors_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

std::vector<float> drawn_weights(std::uint64_t seed) {
    std::vector<float> weights(classifier_weight_count());
    random_classifier_weights(seed, weights);
    return weights;
}

TEST(ClassifierWeights, LieWhereTheSeedsFileHasThem) {
    const auto weights = drawn_weights(1);

    EXPECT_EQ(weights.size() * sizeof(float), 47'632'400U);
    const auto offset = [&](const char* name) { return classifier_tensor(weights, name).data() - weights.data(); };
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
    const auto weights = drawn_weights(3);

    const auto tensor = classifier_tensor(weights, "w_conv2");
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
    const WeightBlob drawn = app->random_weights(5);
    const auto safetensors = folder.path() / "model.safetensors";
    const auto raw = folder.path() / "params.bin";
    test::write_safetensors(safetensors, classifier_tensors(), drawn.floats());
    std::ofstream(raw, std::ios::binary)
        .write(reinterpret_cast<const char*>(drawn.floats().data()),
               static_cast<std::streamsize>(drawn.floats().size_bytes()));

    EXPECT_TRUE(std::ranges::equal(app->read_weights(safetensors.string()).floats(), drawn.floats()));
    EXPECT_TRUE(std::ranges::equal(app->read_weights(raw.string()).floats(), drawn.floats()));
}

TEST(ClassifierWeights, OfTheWrongSizeAreRefusedAtLoad) {
    const WeightBlob blob = WeightBlob::of_floats(3);

    EXPECT_THROW((void)open_classifier(false)->load(blob, Precision::fp32, DeviceKind::host), ContractViolation);
}

}  // namespace
}  // namespace sluice
