#include "core/codec.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "core/app.hpp"
#include "tests/support/output_codecs.hpp"

namespace sluice {
namespace {

using test::FieldsCodec;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr std::int32_t bits_of_nan = 0x7FC00000;

struct Record {
    float score;
    std::int32_t label;
    float margins[2];
};

const FieldsCodec codec({{"score", FieldType::float32, 1},
                         {"label", FieldType::int32, 1},
                         {"margin", FieldType::float32, 2}});

std::uint64_t found_in(const std::vector<Record>& records) {
    return codec.nonfinite(std::as_bytes(std::span(records)));
}

TEST(ItemCodec, CountsTheFloatsThatAreNotFinite) {
    EXPECT_EQ(found_in({{1, 2, {3, 4}}, {nan, 2, {3, inf}}, {1, 2, {-inf, 4}}, {-nan, 2, {3, 4}}, {1, 2, {3, nan}}}),
              5U);
    EXPECT_EQ(found_in({}), 0U);
}

TEST(ItemCodec, CountsNeitherFiniteFloatsNorIntegers) {
    const float smallest = std::numeric_limits<float>::denorm_min();
    const float largest_float = std::numeric_limits<float>::max();

    EXPECT_EQ(found_in({{0, bits_of_nan, {-0.0F, smallest}}, {largest_float, -1, {-largest_float, 1}}}), 0U);
    const std::array<std::int32_t, 4> labels{bits_of_nan, 0, bits_of_nan, 1};
    EXPECT_EQ(FieldsCodec({{"label", FieldType::int32, 4}}).nonfinite(std::as_bytes(std::span(labels))), 0U);
}

TEST(ItemCodec, WritesAnItemWithoutAResult) {
    Record record{1, 2, {3, 4}};

    codec.write_missing(std::as_writable_bytes(std::span(&record, 1)));

    EXPECT_TRUE(std::isnan(record.score));
    EXPECT_EQ(record.label, missing_int32);
    EXPECT_TRUE(std::isnan(record.margins[0]));
    EXPECT_TRUE(std::isnan(record.margins[1]));
}

TEST(ItemCodec, LeavesTheRecordsOfTextToTheApp) {
    std::array<std::byte, 8> record{};

    EXPECT_THROW(FieldsCodec({{"text", FieldType::text, 1}}).write_missing(record), ContractViolation);
}

TEST(CheckShape, RefusesOneThatTheAppDoesNotSayOrThatIsEmpty) {
    EXPECT_NO_THROW(check_shape("model", {260, 268}, {260, 268}));
    EXPECT_THROW(check_shape("model", {260, 0}, {260, 0}), ContractViolation);
    EXPECT_THROW(check_shape("model", {0, 268}, {0, 268}), ContractViolation);
    try {
        check_shape("model", {260, 276}, {260, 268});
        ADD_FAILURE() << "not refused";
    } catch (const ContractViolation& broken) {
        EXPECT_STREQ(broken.what(),
                     "the shape of the app's model is 260 bytes in and 276 out, that of its OpenApp 260 bytes in and "
                     "268 out");
    }
}

}  // namespace
}  // namespace sluice
