#include "core/io/output_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <random>

#include "tests/core/io/io_fixture.hpp"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<OutputField> label_only = {{"label", FieldType::int32, 1}};
const std::vector<OutputField> label_and_scores = {{"label", FieldType::int32, 1}, {"score", FieldType::float32, 2}};

struct Row {
    std::int32_t label;
    float first;
    float second;
};
static_assert(sizeof(Row) == 12);

class OutputWriterTest : public IoTest {
protected:
    [[nodiscard]] std::string written(OutputFormat format, const std::vector<Row>& rows,
                                      std::uint32_t step = 1000) const {
        const auto writer = make_output_writer(target(), format, label_and_scores, rows.size());
        for (std::size_t first = 0; first < rows.size(); first += step) {
            const auto part = std::span(rows).subspan(first, std::min<std::size_t>(step, rows.size() - first));
            writer->append(static_cast<std::uint32_t>(part.size()), std::as_bytes(part));
        }
        writer->publish();
        return contents(target());
    }
    [[nodiscard]] std::filesystem::path target() const { return folder() / "out"; }
};

TEST_F(OutputWriterTest, WritesCsvWithAColumnForEveryValue) {
    EXPECT_EQ(written(OutputFormat::csv, {{2, 0.5F, -1.25F}, {-1, 1e-20F, 16777216.0F}}),
              "item,label,score_0,score_1\n0,2,0.5,-1.25\n1,-1,1e-20,16777216\n");
}

TEST_F(OutputWriterTest, WritesJsonlWithAnArrayForSeveralValues) {
    EXPECT_EQ(written(OutputFormat::jsonl, {{2, 0.5F, -1.25F}, {3, 0.1F, 0.0F}}),
              "{\"item\":0,\"label\":2,\"scores\":[0.5,-1.25]}\n{\"item\":1,\"label\":3,\"scores\":[0.1,0]}\n");
}

TEST_F(OutputWriterTest, WritesNumbersThatAreNoneAsEachFormatAllows) {
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();

    EXPECT_EQ(written(OutputFormat::csv, {{0, inf, -inf}, {1, nan, -nan}}),
              "item,label,score_0,score_1\n0,0,inf,-inf\n1,1,nan,nan\n");
    EXPECT_EQ(written(OutputFormat::jsonl, {{0, inf, -inf}, {1, nan, -nan}}),
              "{\"item\":0,\"label\":0,\"scores\":[null,null]}\n{\"item\":1,\"label\":1,\"scores\":[null,null]}\n");
}

TEST_F(OutputWriterTest, WritesFloatsThatReadBackToTheSameBits) {
    std::mt19937 random(99);
    std::vector<Row> rows;
    while (rows.size() < 2000) {
        const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        if (std::isfinite(value)) {
            rows.push_back({static_cast<std::int32_t>(random()), value, -value});
        }
    }

    const std::string text = written(OutputFormat::csv, rows);

    std::size_t at = text.find('\n') + 1;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::uint64_t item = 0;
        Row row = {};
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

TEST_F(OutputWriterTest, WritesSeveralFieldsAsAStructuredArray) {
    const std::vector<Row> rows = {{2, 0.5F, -1.25F}, {3, 0.1F, 0.0F}};

    const std::string file = written(OutputFormat::npy, rows);

    const std::string data(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Row));
    ASSERT_EQ((file.size() - data.size()) % 64, 0U);
    EXPECT_EQ(file.substr(file.size() - data.size()), data);
    EXPECT_THAT(file, HasSubstr("{'descr': [('label', '<i4'), ('score', '<f4', (2,))], 'fortran_order': False, "
                                "'shape': (2,), }"));
}

TEST_F(OutputWriterTest, WritesOneFieldAsAPlainArray) {
    const std::vector<std::int32_t> labels = {3, 1, 2};
    const auto writer = make_output_writer(target(), OutputFormat::npy, label_only, labels.size());
    writer->append(3, std::as_bytes(std::span(labels)));

    writer->publish();

    const std::string file = contents(target());
    EXPECT_THAT(file, HasSubstr("{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }"));
    EXPECT_EQ(file.substr(file.size() - 12), std::string("\3\0\0\0\1\0\0\0\2\0\0\0", 12));
}

TEST_F(OutputWriterTest, WritesTheSameBytesForAnyChunkSize) {
    std::vector<Row> rows;
    for (std::int32_t i = 0; i < 5000; ++i) {
        rows.push_back({i % 4, static_cast<float>(i) / 7, -static_cast<float>(i)});
    }
    for (const OutputFormat format : {OutputFormat::csv, OutputFormat::jsonl, OutputFormat::npy}) {
        const std::string at_once = written(format, rows, 5000);

        EXPECT_EQ(written(format, rows, 1), at_once);
        EXPECT_EQ(written(format, rows, 7), at_once);
        EXPECT_EQ(written(format, rows, 64), at_once);
    }
}

TEST_F(OutputWriterTest, MakesAnEmptyOutputOfNoItems) {
    EXPECT_EQ(written(OutputFormat::csv, {}), "item,label,score_0,score_1\n");
    EXPECT_EQ(written(OutputFormat::jsonl, {}), "");
    EXPECT_THAT(written(OutputFormat::npy, {}), HasSubstr("'shape': (0,)"));
}

TEST_F(OutputWriterTest, TakesExactlyTheAnnouncedItems) {
    const std::vector<std::int32_t> labels = {3, 1, 2};
    const auto bytes = std::as_bytes(std::span(labels));
    const auto writer = make_output_writer(target(), OutputFormat::csv, label_only, 2);

    EXPECT_THROW(writer->append(3, bytes), ContractViolation);
    EXPECT_THROW(writer->append(1, bytes), ContractViolation);
    writer->append(1, bytes.first(4));
    EXPECT_THROW(writer->publish(), ContractViolation);
    EXPECT_FALSE(std::filesystem::exists(target()));
    writer->append(1, bytes.first(4));
    writer->publish();

    EXPECT_EQ(contents(target()), "item,label\n0,3\n1,3\n");
}

TEST_F(OutputWriterTest, RemovesItsTemporaryFileWhenItIsAbandoned) {
    { const auto writer = make_output_writer(target(), OutputFormat::csv, label_only, 2); }

    EXPECT_THAT(names_in_folder(), IsEmpty());
}

TEST_F(OutputWriterTest, ChecksTheSpaceForAnArrayBeforeItStarts) {
    const auto make = [&] {
        static_cast<void>(make_output_writer(target(), OutputFormat::npy, label_only, std::uint64_t{1} << 60));
    };

    EXPECT_EQ(error_of(make).text().id, "E-OUT-026");
}

TEST_F(OutputWriterTest, RefusesFieldsThatCannotStandInAFile) {
    const auto make = [&](std::vector<OutputField> fields) {
        static_cast<void>(make_output_writer(target(), OutputFormat::csv, std::move(fields), 1));
    };

    EXPECT_THROW(make({}), ContractViolation);
    EXPECT_THROW(make({{"a,b", FieldType::int32, 1}}), ContractViolation);
    EXPECT_THROW(make({{"", FieldType::int32, 1}}), ContractViolation);
    EXPECT_THROW(make({{"a", FieldType::int32, 0}}), ContractViolation);
}

}  // namespace
}  // namespace sluice::test
