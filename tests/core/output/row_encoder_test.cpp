#include "core/output/row_encoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "core/error.hpp"
#include "core/input/npy_header.hpp"
#include "tests/support/output_codecs.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;

using test::FieldsCodec;

const FieldsCodec fields_codec({{"label", FieldType::int32, 1}, {"score", FieldType::float32, 2}});

struct Record {
    std::int32_t label;
    float first;
    float second;
};

static_assert(sizeof(Record) == 12);

const std::array<Record, 2> two_rows{{{2, 0.5F, -1.25F}, {-1, 3.0F, 4.0F}}};

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A file of these rows, encoded `step` at a time.
std::string written_rows(OutputFormat format, const std::vector<Record>& rows, std::size_t step = 1000) {
    RowEncoder encoder(format, fields_codec);
    std::string file = encoder.header(rows.size());
    for (std::size_t first = 0; first < rows.size(); first += step) {
        const auto part = std::span(rows).subspan(first, std::min(step, rows.size() - first));
        file += text_of(encoder.encode(first, static_cast<std::uint32_t>(part.size()), std::as_bytes(part)).bytes);
    }
    return file;
}

TEST(RowEncoder, NumbersTheRowsFromTheFirstOneOn) {
    RowEncoder csv(OutputFormat::csv, fields_codec);
    EXPECT_EQ(csv.header(2), "item,label,score_0,score_1\n");
    EXPECT_EQ(text_of(csv.encode(7, 2, std::as_bytes(std::span(two_rows))).bytes), "7,2,0.5,-1.25\n8,-1,3,4\n");

    RowEncoder jsonl(OutputFormat::jsonl, fields_codec);
    EXPECT_EQ(jsonl.header(2), "");
    EXPECT_EQ(text_of(jsonl.encode(7, 1, std::as_bytes(std::span(two_rows)).first(12)).bytes),
              "{\"item\":7,\"label\":2,\"scores\":[0.5,-1.25]}\n");
}

TEST(RowEncoder, LeavesBinaryResultsAsTheyAre) {
    RowEncoder npy(OutputFormat::npy, fields_codec);
    const auto bytes = std::as_bytes(std::span(two_rows));

    EXPECT_EQ(text_of(npy.encode(7, 2, bytes).bytes), text_of(bytes));
    EXPECT_EQ(npy.header(2), make_npy_header(fields_codec.output_fields(), 2));
}

TEST(RowEncoder, GetsExactlyItsItems) {
    RowEncoder csv(OutputFormat::csv, fields_codec);

    EXPECT_THROW(static_cast<void>(csv.encode(0, 3, std::as_bytes(std::span(two_rows)))), ContractViolation);
}

TEST(RowEncoder, EstimatesARowWithinAFactorOfTwo) {
    const std::array<Record, 1> typical{{{3, 12.345678F, -0.98765432F}}};
    for (const OutputFormat format : {OutputFormat::csv, OutputFormat::jsonl, OutputFormat::npy}) {
        RowEncoder encoder(format, fields_codec);
        const auto size = encoder.encode(999'999, 1, std::as_bytes(std::span(typical))).bytes.size();
        const std::uint64_t estimate = encoder.estimate_row_bytes(1'000'000);
        EXPECT_LE(estimate, 2 * size) << extension_of(format);
        EXPECT_GE(2 * estimate, size) << extension_of(format);
    }
}

TEST(RowEncoder, WritesCsvWithAColumnForEveryValue) {
    EXPECT_EQ(written_rows(OutputFormat::csv, {{2, 0.5F, -1.25F}, {-1, 1e-20F, 16777216.0F}}),
              "item,label,score_0,score_1\n0,2,0.5,-1.25\n1,-1,1e-20,16777216\n");
}

TEST(RowEncoder, WritesJsonlWithAnArrayForSeveralValues) {
    EXPECT_EQ(written_rows(OutputFormat::jsonl, {{2, 0.5F, -1.25F}, {3, 0.1F, 0.0F}}),
              "{\"item\":0,\"label\":2,\"scores\":[0.5,-1.25]}\n{\"item\":1,\"label\":3,\"scores\":[0.1,0]}\n");
}

TEST(RowEncoder, CallsAnArrayByThePluralOfItsField) {
    const FieldsCodec codec({{"probability", FieldType::float32, 2}, {"day", FieldType::int32, 2}});
    const std::array<std::int32_t, 4> values{0, 0, 1, 2};
    RowEncoder encoder(OutputFormat::jsonl, codec);

    EXPECT_EQ(text_of(encoder.encode(0, 1, std::as_bytes(std::span(values))).bytes),
              "{\"item\":0,\"probabilities\":[0,0],\"days\":[1,2]}\n");
}

TEST(RowEncoder, WritesNumbersThatAreNoneAsEachFormatAllows) {
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();

    EXPECT_EQ(written_rows(OutputFormat::csv, {{0, inf, -inf}, {1, nan, -nan}}),
              "item,label,score_0,score_1\n0,0,inf,-inf\n1,1,nan,nan\n");
    EXPECT_EQ(written_rows(OutputFormat::jsonl, {{0, inf, -inf}, {1, nan, -nan}}),
              "{\"item\":0,\"label\":0,\"scores\":[null,null]}\n{\"item\":1,\"label\":1,\"scores\":[null,null]}\n");
}

TEST(RowEncoder, WritesAZeroWithASignAsNoIntegerOfJson) {
    EXPECT_EQ(written_rows(OutputFormat::jsonl, {{0, 0.0F, -0.0F}}), "{\"item\":0,\"label\":0,\"scores\":[0,-0.0]}\n");
}

TEST(RowEncoder, WritesFloatsThatReadBackToTheSameBits) {
    std::mt19937 random(99);
    std::vector<Record> rows;
    while (rows.size() < 2000) {
        const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        if (std::isfinite(value)) {
            rows.push_back({static_cast<std::int32_t>(random()), value, -value});
        }
    }

    const std::string text = written_rows(OutputFormat::csv, rows);

    std::size_t at = text.find('\n') + 1;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::uint64_t item = 0;
        Record row = {};
        const char* const end = text.data() + text.size();
        const char* next = std::from_chars(text.data() + at, end, item).ptr;
        next = std::from_chars(next + 1, end, row.label).ptr;
        next = std::from_chars(next + 1, end, row.first).ptr;
        next = std::from_chars(next + 1, end, row.second).ptr;
        at = static_cast<std::size_t>(next - text.data()) + 1;
        ASSERT_EQ(item, i);
        ASSERT_EQ(row.label, rows[i].label);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(row.first), std::bit_cast<std::uint32_t>(rows[i].first));
        ASSERT_EQ(std::bit_cast<std::uint32_t>(row.second), std::bit_cast<std::uint32_t>(rows[i].second));
    }
    EXPECT_EQ(at, text.size());
}

TEST(RowEncoder, WritesSeveralFieldsAsAStructuredArray) {
    const std::vector<Record> rows = {{2, 0.5F, -1.25F}, {3, 0.1F, 0.0F}};

    const std::string file = written_rows(OutputFormat::npy, rows);

    const std::string data(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Record));
    ASSERT_EQ((file.size() - data.size()) % 64, 0U);
    EXPECT_EQ(file.substr(file.size() - data.size()), data);
    EXPECT_THAT(file, HasSubstr("{'descr': [('label', '<i4'), ('score', '<f4', (2,))], 'fortran_order': False, "
                                "'shape': (2,), }"));
}

TEST(RowEncoder, WritesOneFieldAsAPlainArray) {
    const std::vector<std::int32_t> labels = {3, 1, 2};
    const FieldsCodec label({{"label", FieldType::int32, 1}});
    RowEncoder npy(OutputFormat::npy, label);

    EXPECT_THAT(npy.header(3), HasSubstr("{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }"));
    EXPECT_EQ(text_of(npy.encode(0, 3, std::as_bytes(std::span(labels))).bytes),
              std::string("\3\0\0\0\1\0\0\0\2\0\0\0", 12));
}

TEST(RowEncoder, WritesAnArrayOfOneValueWhereAFieldSaysSo) {
    const FieldsCodec score({{.name = "score", .type = FieldType::int32, .has_index = true}});
    const std::int32_t value = 7;
    const auto row_as = [&](OutputFormat format) {
        return text_of(RowEncoder(format, score).encode(0, 1, std::as_bytes(std::span(&value, 1))).bytes);
    };

    EXPECT_EQ(RowEncoder(OutputFormat::csv, score).header(1), "item,score_0\n");
    EXPECT_EQ(row_as(OutputFormat::csv), "0,7\n");
    EXPECT_EQ(row_as(OutputFormat::jsonl), "{\"item\":0,\"scores\":[7]}\n");
    EXPECT_THAT(RowEncoder(OutputFormat::npy, score).header(3), HasSubstr("'descr': '<i4'"));
    EXPECT_THAT(RowEncoder(OutputFormat::npy, score).header(3), HasSubstr("'shape': (3, 1)"));
}

TEST(RowEncoder, WritesTheSameBytesForAnyChunkSize) {
    std::vector<Record> rows;
    for (std::int32_t i = 0; i < 5000; ++i) {
        rows.push_back({i % 4, static_cast<float>(i) / 7, -static_cast<float>(i)});
    }
    for (const OutputFormat format : {OutputFormat::csv, OutputFormat::jsonl, OutputFormat::npy}) {
        const std::string at_once = written_rows(format, rows, 5000);

        EXPECT_EQ(written_rows(format, rows, 1), at_once);
        EXPECT_EQ(written_rows(format, rows, 7), at_once);
        EXPECT_EQ(written_rows(format, rows, 64), at_once);
    }
}

TEST(RowEncoder, WritesTheSameBytesWithAnyNumberOfThreads) {
    std::vector<Record> rows;
    for (std::int32_t i = 0; i < 9000; ++i) {
        rows.push_back({i % 4, i % 1000 == 7 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(i) / 7,
                        -static_cast<float>(i)});
    }
    const auto bytes = std::as_bytes(std::span(rows));
    for (const OutputFormat format : {OutputFormat::csv, OutputFormat::jsonl, OutputFormat::npy}) {
        RowEncoder alone(format, fields_codec);
        const std::string expected = text_of(alone.encode(5, 9000, bytes).bytes);
        RowEncoder encoder(format, fields_codec);
        for (const std::uint32_t threads : {2U, 5U, 1U}) {
            encoder.use_threads(threads);
            for (int chunk = 0; chunk < 2; ++chunk) {
                const RowEncoder::Rows all = encoder.encode(5, 9000, bytes);
                EXPECT_EQ(all.nonfinite, 9U);
                EXPECT_TRUE(text_of(all.bytes) == expected) << extension_of(format) << " " << threads;
            }
            EXPECT_EQ(text_of(encoder.encode(5, 1, bytes.first(12)).bytes),
                      text_of(alone.encode(5, 1, bytes.first(12)).bytes));
        }
    }
}

TEST(RowEncoder, HasAsManyThreadsAsEveryChunkGivesWorkTo) {
    const auto encoders = [](std::uint32_t cores, std::uint64_t items, std::uint32_t chunk_items, std::uint64_t bytes) {
        return choose_encoders({.cores = cores, .items = items, .chunk_items = chunk_items, .row_bytes = bytes});
    };

    EXPECT_EQ(encoders(4, 100'000'000, 16'384, 10), 4U);
    EXPECT_EQ(encoders(2, 100'000'000, 16'384, 10), 2U);
    EXPECT_EQ(encoders(64, 100'000'000, 16'384, 10), 5U) << "a chunk has 160 KiB";
    EXPECT_EQ(encoders(64, 100'000'000, 16'384, 100), 8U);
    EXPECT_EQ(encoders(4, 100'000'000, 1000, 10), 1U) << "small chunks";
    EXPECT_EQ(encoders(4, 1'000'000, 16'384, 10), 1U) << "a small output";
    EXPECT_EQ(encoders(4, 1'000'000, 16, 65'536), 4U) << "long texts";
    EXPECT_EQ(encoders(4, std::uint64_t{1} << 40, 1, std::uint64_t{1} << 40), 1U);
    EXPECT_EQ(encoders(1, 100'000'000, 16'384, 10), 1U);
    EXPECT_EQ(encoders(0, 0, 1, 0), 1U);
}

TEST(RowEncoder, MakesAnEmptyOutputOfNoItems) {
    EXPECT_EQ(written_rows(OutputFormat::csv, {}), "item,label,score_0,score_1\n");
    EXPECT_EQ(written_rows(OutputFormat::jsonl, {}), "");
    EXPECT_THAT(written_rows(OutputFormat::npy, {}), HasSubstr("'shape': (0,)"));
}

TEST(RowEncoder, RefusesFieldsThatCannotStandInAFile) {
    const auto make = [](std::vector<OutputField> wrong) {
        const FieldsCodec of_wrong(std::move(wrong));
        const RowEncoder encoder(OutputFormat::csv, of_wrong);
    };

    EXPECT_THROW(make({}), ContractViolation);
    EXPECT_THROW(make({{"a,b", FieldType::int32, 1}}), ContractViolation);
    EXPECT_THROW(make({{"", FieldType::int32, 1}}), ContractViolation);
    EXPECT_THROW(make({{"a", FieldType::int32, 0}}), ContractViolation);
    EXPECT_THROW(make({{"a", FieldType::int32, 1}, {"b", FieldType::int32, 1}, {"a", FieldType::float32, 1}}),
                 ContractViolation);
    EXPECT_THROW(make({{"item", FieldType::int32, 1}}), ContractViolation);
}

/// A codec with the columns text, count and score, whose decode() is `decode`.
class DecodingCodec final : public FieldsCodec {
public:
    explicit DecodingCodec(std::function<void(Row&)> decode)
        : FieldsCodec({{.name = "text", .type = FieldType::text, .most_bytes = 4},
                       {.name = "count"},
                       {.name = "score", .type = FieldType::float32, .count = 2}}),
          decode_(std::move(decode)) {}

    void decode(std::span<const std::byte>, Row& row) const override { decode_(row); }

private:
    std::function<void(Row&)> decode_;
};

std::string violation(OutputFormat format, std::function<void(Row&)> decode) {
    const DecodingCodec codec(std::move(decode));
    RowEncoder encoder(format, codec);
    try {
        static_cast<void>(encoder.encode(0, 1, std::vector<std::byte>(codec.shape().output_bytes)));
        return "none";
    } catch (const ContractViolation& broken) {
        return broken.what();
    }
}

TEST(RowEncoder, SaysWhichColumnADecoderDoesNotFill) {
    const auto fill = [](Row& row) {
        row.text("abcd");
        row.int32(1);
        row.float32(1);
        row.float32(2);
    };
    for (const OutputFormat format : {OutputFormat::csv, OutputFormat::jsonl, OutputFormat::npy}) {
        EXPECT_EQ(violation(format, fill), "none");
        EXPECT_EQ(violation(format, [](Row& row) { row.int32(1); }),
                  format == OutputFormat::npy
                      ? "the app's decode() gives an int32, expected a text of at most 4 bytes for column text"
                      : "the app's decode() gives an int32, expected a text for column text");
        EXPECT_EQ(violation(format,
                            [](Row& row) {
                                row.missing();
                                row.missing();
                                row.float32(1);
                            }),
                  "the app's decode() gives no more values, expected a float32 for column score_1");
        EXPECT_EQ(violation(format,
                            [&](Row& row) {
                                fill(row);
                                row.missing();
                            }),
                  "the app's decode() gives a missing value, expected none after column score_1");
        EXPECT_THAT(violation(format, [](Row& row) { row.fixed({}); }), HasSubstr("decode() gives a fixed result"));
    }
    EXPECT_EQ(violation(OutputFormat::npy, [](Row& row) { row.text("abcde"); }),
              "the app's decode() gives a text of 5 bytes, expected a text of at most 4 bytes for column text");
}

}  // namespace
}  // namespace sluice
