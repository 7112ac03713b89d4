#include "kernels/host/row_sums.hpp"

#include <cmath>
#include <vector>

#include "tests/kernels/layer_runner.hpp"

namespace sluice {
namespace {

TEST(RowSums, HaveTheSameBitsWithAnyInstructions) {
    for (const std::size_t count : {1U, 15U, 16U, 37U, 64U}) {
        const std::vector<float> columns = random_floats(count * dot_width, 1);
        const std::vector<float> by = random_floats(count, 2);
        const std::vector<float> before = random_floats(dot_width, 3);
        std::vector<float> dots(dot_width);
        std::vector<float> sums = before;
        dot_columns(count, by.data(), columns.data(), dots.data());
        add_weighted_rows(count, dot_width, by.data(), columns.data(), sums.data());

        ASSERT_GE(row_sums_builds().size(), 1U);
        for (const RowSumsBuild& build : row_sums_builds()) {
            std::vector<float> same_dots(dot_width);
            std::vector<float> same_sums = before;
            build.dot_columns(count, by.data(), columns.data(), same_dots.data());
            build.add_weighted_rows(count, dot_width, by.data(), columns.data(), same_sums.data());
            EXPECT_EQ(same_dots, dots);
            EXPECT_EQ(same_sums, sums);
        }
        for (std::size_t j = 0; j < dot_width; ++j) {
            double dot = 0;
            for (std::size_t i = 0; i < count; ++i) {
                dot += static_cast<double>(by[i]) * static_cast<double>(columns[i * dot_width + j]);
            }
            EXPECT_NEAR(dots[j], dot, 1e-4) << "64 products of values below one, in fp32";
            EXPECT_NEAR(sums[j] - before[j], dot, 1e-4);
        }
    }
}

}  // namespace
}  // namespace sluice
