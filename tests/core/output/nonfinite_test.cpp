#include "core/output/nonfinite.hpp"

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

TEST(Nonfinite, CountsAMarkedItemOnceAndTakesTheMarkAway) {
    std::vector<OutputField> chosen = fields;
    chosen[1].is_chosen = true;
    std::vector<Row> rows{{1, 2, {3, 4}},
                          {1, 7 | nonfinite_mark, {3, 4}},
                          {nan, nonfinite_mark, {nan, inf}},
                          {nan, no_value, {nan, nan}}};
    const auto bytes = std::as_writable_bytes(std::span(rows));

    const Nonfinite found = find_nonfinite(chosen, 100, bytes);
    remove_marks(chosen, bytes);

    EXPECT_TRUE(found.is_marked);
    EXPECT_EQ(found.values, 1U + 3U);
    EXPECT_THAT(found.first_items, ElementsAre(101, 102));
    EXPECT_EQ(rows[0].label, 2);
    EXPECT_EQ(rows[1].label, 7);
    EXPECT_EQ(rows[2].label, 0);
    EXPECT_EQ(rows[3].label, no_value);
    EXPECT_FALSE(find_nonfinite(chosen, 100, bytes).is_marked);
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
