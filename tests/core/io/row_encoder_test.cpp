#include "core/io/row_encoder.hpp"

#include <gtest/gtest.h>

#include <array>

#include "core/error.hpp"
#include "core/io/npy_header.hpp"

namespace sluice {
namespace {

const std::vector<OutputField> fields{{"label", FieldType::int32, 1}, {"score", FieldType::float32, 2}};

struct Row {
    std::int32_t label;
    float first;
    float second;
};

const std::array<Row, 2> rows{{{2, 0.5F, -1.25F}, {-1, 3.0F, 4.0F}}};

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(RowEncoder, NumbersTheRowsFromTheFirstOneOn) {
    RowEncoder csv(OutputFormat::csv, fields);
    EXPECT_EQ(csv.header(2), "item,label,score_0,score_1\n");
    EXPECT_EQ(text_of(csv.encode(7, 2, std::as_bytes(std::span(rows)))), "7,2,0.5,-1.25\n8,-1,3,4\n");

    RowEncoder jsonl(OutputFormat::jsonl, fields);
    EXPECT_EQ(jsonl.header(2), "");
    EXPECT_EQ(text_of(jsonl.encode(7, 1, std::as_bytes(std::span(rows)).first(12))),
              "{\"item\":7,\"label\":2,\"scores\":[0.5,-1.25]}\n");
}

TEST(RowEncoder, LeavesBinaryResultsWhereTheyAre) {
    RowEncoder npy(OutputFormat::npy, fields);
    const auto bytes = std::as_bytes(std::span(rows));

    EXPECT_EQ(npy.encode(7, 2, bytes).data(), bytes.data());
    EXPECT_EQ(npy.encode(7, 2, bytes).size(), bytes.size());
    EXPECT_EQ(npy.header(2), make_npy_header(fields, 2));
}

TEST(RowEncoder, GetsExactlyItsItems) {
    RowEncoder csv(OutputFormat::csv, fields);

    EXPECT_THROW(static_cast<void>(csv.encode(0, 3, std::as_bytes(std::span(rows)))), ContractViolation);
}

TEST(RowEncoder, EstimatesARowWithinAFactorOfTwo) {
    const std::array<Row, 1> typical{{{3, 12.345678F, -0.98765432F}}};
    for (const OutputFormat format : {OutputFormat::csv, OutputFormat::jsonl, OutputFormat::npy}) {
        RowEncoder encoder(format, fields);
        const auto size = encoder.encode(999'999, 1, std::as_bytes(std::span(typical))).size();
        const std::uint64_t estimate = encoder.estimate_row_bytes(1'000'000);
        EXPECT_LE(estimate, 2 * size) << extension_of(format);
        EXPECT_GE(2 * estimate, size) << extension_of(format);
    }
}

}  // namespace
}  // namespace sluice
