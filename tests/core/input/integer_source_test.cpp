// Rows of integers, as .npy of any integer type and as .bin of int32.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/core/input/io_fixture.hpp"

namespace sluice::test {
namespace {

/// Items are the text of their row.
class RowCodec final : public ItemCodec {
public:
    [[nodiscard]] IoShape shape() const noexcept override { return {64, 4}; }
    void encode(std::uint64_t, std::string_view, std::span<std::byte>) const override {}
    [[nodiscard]] std::uint32_t row_integers() const noexcept override { return 3; }
    [[nodiscard]] ItemProblem pack_integers(std::uint64_t item, std::span<const std::int64_t> row,
                                            std::span<std::byte> to) const override {
        const std::string text = fmt::format("{}: {}", item, fmt::join(row, " "));
        std::ranges::fill(to, std::byte{0});
        std::memcpy(to.data(), text.data(), text.size());
        return {.what = row.front() == 66 ? "column 0 is 66" : ""};
    }
    [[nodiscard]] std::vector<OutputField> output_fields() const override { return {{"label", FieldType::int32, 1}}; }
};

class IntegerSource : public IoTest {
protected:
    [[nodiscard]] JobConfig::Input npy(std::string_view descr, std::string_view shape, std::string_view data) const {
        const std::string header =
            fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}\n", descr, shape);
        std::string file("\x93NUMPY\1\0", 8);
        file += {static_cast<char>(header.size()), '\0'};
        return {{write("rows.npy", file + header + std::string(data))}, InputFormat::npy, {}, false, false};
    }
    [[nodiscard]] JobConfig::Input bin(std::string_view data) const {
        return {{write("rows.bin", data)}, InputFormat::onehot_f32, {}, false, false};
    }
    [[nodiscard]] std::vector<std::string> rows_of(const JobConfig::Input& input) const {
        std::vector<std::string> rows;
        const std::vector<std::byte> items = read_all(*open_input(input, codec_), codec_, 2);
        for (std::size_t at = 0; at < items.size(); at += codec_.shape().input_bytes) {
            rows.emplace_back(reinterpret_cast<const char*>(&items[at]));
        }
        return rows;
    }
    template <class Integer>
    static std::string bytes(std::vector<Integer> values) {
        return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Integer)};
    }
    using Rows = std::vector<std::string>;
    RowCodec codec_;
};

TEST_F(IntegerSource, GivesRowsOfEveryType) {
    const Rows expected{"0: 1 2", "1: 3 -4", "2: 5 6"};
    EXPECT_EQ(rows_of(npy("|i1", "(3, 2)", bytes<std::int8_t>({1, 2, 3, -4, 5, 6}))), expected);
    EXPECT_EQ(rows_of(npy("<i2", "(3, 2)", bytes<std::int16_t>({1, 2, 3, -4, 5, 6}))), expected);
    EXPECT_EQ(rows_of(npy("<i4", "(3, 2)", bytes<std::int32_t>({1, 2, 3, -4, 5, 6}))), expected);
    EXPECT_EQ(rows_of(npy("<i8", "(3, 2)", bytes<std::int64_t>({1, 2, 3, -4, 5, 6}))), expected);
    EXPECT_EQ(rows_of(npy("|u1", "(2,)", bytes<std::uint8_t>({1, 255}))), (Rows{"0: 1", "1: 255"}));
    EXPECT_EQ(rows_of(npy("<i1", "(2,)", bytes<std::int8_t>({1, -1}))), (Rows{"0: 1", "1: -1"}));
    EXPECT_EQ(rows_of(npy("<u2", "(2,)", bytes<std::uint16_t>({1, 50'256}))), (Rows{"0: 1", "1: 50256"}));
    EXPECT_EQ(rows_of(npy("<u4", "(2,)", bytes<std::uint32_t>({1, UINT32_MAX}))), (Rows{"0: 1", "1: 4294967295"}));
    EXPECT_EQ(rows_of(npy("<u8", "(2,)", bytes<std::uint64_t>({1, UINT64_MAX}))),
              (Rows{"0: 1", "1: 9223372036854775807"}));
    EXPECT_EQ(rows_of(bin(bytes<std::int32_t>({1, 2, 3, 4, 5, -6}))), (Rows{"0: 1 2 3", "1: 4 5 -6"}));
}

TEST_F(IntegerSource, ReadsManyRowsInGroups) {
    std::vector<std::int32_t> values(90'000);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<std::int32_t>(100 + i);
    }
    const auto source = open_input(bin(bytes(values)), codec_);
    std::vector<std::byte> items(30'000 * 64);

    source->read(0, 30'000, items);

    for (const std::size_t i : {0U, 21'845U, 21'846U, 29'999U}) {
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(&items[i * 64])),
                  fmt::format("{}: {} {} {}", i, 100 + 3 * i, 101 + 3 * i, 102 + 3 * i));
    }
}

TEST_F(IntegerSource, RefusesOtherTypesShapesAndSizes) {
    const auto failure = [&](const JobConfig::Input& input) { return failure_of(input, codec_); };
    const std::string rows = bytes<std::int32_t>({1, 2, 3});
    EXPECT_EQ(failure(npy("<f4", "(3,)", rows)),
              "65 E-INP-031 rows.npy: element type '<f4' (expected integers, such as '<i4')");
    EXPECT_EQ(failure(npy(">i4", "(3,)", rows)),
              "65 E-INP-031 rows.npy: element type '>i4' (expected integers, such as '<i4')");
    EXPECT_EQ(
        failure(npy("<i4", "(1, 1, 3)", rows)),
        "65 E-INP-032 rows.npy: got shape [1,1,3] of integers, expected [N] or [N,columns], 1 to 1048576 columns");
    EXPECT_EQ(failure(npy("<i4", "(3, 0)", "")),
              "65 E-INP-032 rows.npy: got shape [3,0] of integers, expected [N] or [N,columns], 1 to 1048576 columns");
    EXPECT_EQ(failure(npy("<i4", "(1, 1048577)", rows)),
              "65 E-INP-032 rows.npy: got shape [1,1048577] of integers, expected [N] or [N,columns], 1 to 1048576 "
              "columns");
    EXPECT_EQ(failure(npy("<i4", "(2, 2)", rows)),
              "65 E-INP-030 rows.npy: the header claims 2 items of 8 bytes, 12 bytes follow (1 items and 4 left over)");
    EXPECT_EQ(failure(bin(rows + rows + "x")),
              "65 E-INP-030 rows.bin: 25 bytes are 2 items of 12 bytes and 1 left over");
    EXPECT_EQ(failure(bin(bytes<std::int32_t>({1, 2, 3, 66, 2, 3}))),
              "65 E-INP-032 rows.bin: item 1 (at byte 12): column 0 is 66");
    EXPECT_EQ(failure({{write("rows.u8", std::string(64, 'x'))}, InputFormat::u8, {}, false, false}),
              "65 E-INP-032 rows.u8: this app has no uint8 input format");
}

}  // namespace
}  // namespace sluice::test
