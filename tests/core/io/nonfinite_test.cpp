#include "core/io/nonfinite.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr std::int32_t bits_of_nan = 0x7FC00000;

struct Row {
    float score;
    std::int32_t label;
    float margins[2];
};

const std::vector<OutputField> fields{
    {"score", FieldType::float32, 1}, {"label", FieldType::int32, 1}, {"margin", FieldType::float32, 2}};

Nonfinite found_in(const std::vector<Row>& rows) {
    return find_nonfinite(fields, 100, std::as_bytes(std::span(rows)));
}

TEST(Nonfinite, CountsValuesAndNamesTheFirstItems) {
    const Nonfinite found = found_in(
        {{1, 2, {3, 4}}, {nan, 2, {3, inf}}, {1, 2, {-inf, 4}}, {1, 2, {3, 4}}, {-nan, 2, {3, 4}}, {1, 2, {3, nan}}});

    EXPECT_EQ(found.values, 5U);
    EXPECT_EQ(found.items, 4U);
    EXPECT_THAT(found.first_items, ElementsAre(101, 102, 104));
}

TEST(Nonfinite, FindsNothingInFiniteValuesAndIntegers) {
    const float smallest = std::numeric_limits<float>::denorm_min();
    const float largest = std::numeric_limits<float>::max();

    const Nonfinite found = found_in({{0, bits_of_nan, {-0.0F, smallest}}, {largest, -1, {-largest, 1}}});

    EXPECT_EQ(found.values, 0U);
    EXPECT_THAT(found.first_items, IsEmpty());
    EXPECT_EQ(found_in({}).items, 0U);
}

}  // namespace
}  // namespace sluice
