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

TEST(RowSums, NormaliseByTheRootOfTheMeanSquare) {
    for (const std::size_t width : {1U, 16U, 37U, 100U}) {
        const std::vector<float> in = random_floats(width, 4);
        const std::vector<float> gamma = random_floats(width, 5);
        const std::vector<float> beta = random_floats(width, 6);
        std::vector<float> out(width);

        rms_norm(width, 1e-5F, gamma.data(), beta.data(), in.data(), out.data());

        double squares = 0;
        for (const float x : in) {
            squares += static_cast<double>(x) * static_cast<double>(x);
        }
        const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-5);
        for (std::size_t i = 0; i < width; ++i) {
            const double right =
                static_cast<double>(in[i]) * scale * static_cast<double>(gamma[i]) + static_cast<double>(beta[i]);
            EXPECT_NEAR(out[i], right, 1e-5) << width;
        }
    }
}

}  // namespace
}  // namespace sluice
