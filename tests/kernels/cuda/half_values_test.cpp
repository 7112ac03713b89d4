#include "kernels/cuda/half_values.hpp"

#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "tests/kernels/cuda/gpu.hpp"

namespace sluice {
namespace {

TEST(HalfParts, KeepWhatFp32KeepsOfWeightsAndActivations) {
    for (const float deviation : {0.001F, 0.02F, 1.0F, 1000.0F}) {
        const std::vector<float> values = random_values(3 * 40, deviation, 1);

        const std::vector<std::byte> parts = encode_half_parts(values, 40, "values");
        const std::vector<float> joined = decode_half_parts(parts, 40);

        EXPECT_EQ(parts.size(), values.size() * 4);
        for (std::size_t i = 0; i < values.size(); ++i) {
            EXPECT_NEAR(joined[i], values[i], std::abs(values[i]) * 0x1p-22F + 0x1p-35F) << deviation;
        }
    }
}

TEST(HalfParts, HoldTheLargestValuesAndRefuseLargerOnes) {
    const std::vector<float> most{65'504, -65'519};
    const std::vector<float> beyond{1, 70'000};

    EXPECT_EQ(decode_half_parts(encode_half_parts(most, 2, "values"), 2), most);
    EXPECT_THROW((void)encode_half_parts(beyond, 2, "values"), Error);
}

}  // namespace
}  // namespace sluice
