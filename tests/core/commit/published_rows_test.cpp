#include "core/commit/published_rows.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/core/commit/commit_fixture.hpp"
#include "tests/support/output_codecs.hpp"

namespace sluice::test {
namespace {

constexpr std::uint64_t row_items = 300;
constexpr std::uint32_t row_chunk = 8;

const TextCodec text_codec(40'000);
const FieldsCodec number_codec({{"label", FieldType::int32, 1}, {"score", FieldType::float32, 2}});

/// Short ones and long ones of all that has to be escaped somewhere; together several of a reader's windows.
std::vector<std::byte> nasty_texts() {
    constexpr std::string_view letters = "ab,\"\"\n\r\\;";
    std::mt19937 random(7);
    std::vector<std::string> texts;
    for (std::uint64_t item = 0; item < row_items; ++item) {
        std::string text;
        for (std::size_t left = item % 3 == 0 ? random() % 40'000 : random() % 5; left > 0; --left) {
            text += letters[random() % letters.size()];
        }
        texts.push_back(std::move(text));
    }
    return text_codec.results(texts);
}

std::vector<std::byte> random_numbers() {
    std::mt19937 random(7);
    std::vector<std::byte> results(row_items * number_codec.shape().output_bytes);
    for (std::size_t at = 0; at < results.size(); at += 4) {
        const auto value = static_cast<std::uint32_t>(random() >> 4U);
        std::memcpy(results.data() + at, &value, sizeof value);
    }
    return results;
}

struct RowsCase {
    OutputFormat format;
    OutputLayout layout;
};

/// A complete output of several parts.
class PublishedRowsOf : public testing::TestWithParam<RowsCase> {
protected:
    PublishedRowsOf()
        : codec_(GetParam().format == OutputFormat::npy ? number_codec : static_cast<const ItemCodec&>(text_codec)),
          results_(GetParam().format == OutputFormat::npy ? random_numbers() : nasty_texts()),
          encoder_(GetParam().format, codec_),
          paths_(run_paths(folder_.path() / (GetParam().layout == OutputLayout::file ? "out" : "out/"),
                           extension_of(GetParam().format))) {
        CommittedOutput output({.path = GetParam().layout == OutputLayout::file ? paths_.output : paths_.output / "",
                                .format = GetParam().format,
                                .codec = &codec_,
                                .items = row_items,
                                .chunk_items = row_chunk,
                                .chunks_per_part = 7,
                                .me = this_process("", 0)});
        const ChunkGrid grid(row_items, row_chunk);
        for (std::uint64_t id = 0; id < grid.chunks(); ++id) {
            const Chunk chunk = grid.at(id);
            output.append(chunk.count, results_of(chunk.first, chunk.count));
        }
        output.publish();
    }

    [[nodiscard]] std::span<const std::byte> results_of(std::uint64_t first, std::uint32_t count) const {
        const std::size_t bytes = codec_.shape().output_bytes;
        return std::span(results_).subspan(first * bytes, count * bytes);
    }
    [[nodiscard]] std::string expected(std::uint64_t item) {
        const auto bytes = encoder_.encode(item, 1, results_of(item, 1)).bytes;
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    [[nodiscard]] PublishedRows rows() const {
        return {paths_, read_manifest(paths_).value(), GetParam().format, encoder_};
    }

    TemporaryFolder folder_;
    const ItemCodec& codec_;
    std::vector<std::byte> results_;
    RowEncoder encoder_;
    RunPaths paths_;
};

TEST_P(PublishedRowsOf, AreThoseThatWereEncoded) {
    PublishedRows rows = this->rows();

    for (std::uint64_t item = 0; item < row_items; ++item) {
        EXPECT_TRUE(rows.row(item) == expected(item)) << item;
    }
}

TEST_P(PublishedRowsOf, AreFoundWhicheverAreAskedFor) {
    for (const std::uint64_t step : {2U, 5U, 61U, 299U}) {
        PublishedRows rows = this->rows();
        for (std::uint64_t item = step - 1; item < row_items; item += step) {
            EXPECT_TRUE(rows.row(item) == expected(item)) << item << " of every " << step;
        }
    }
}

TEST_P(PublishedRowsOf, AreAskedForInOrder) {
    PublishedRows rows = this->rows();
    static_cast<void>(rows.row(100));

    EXPECT_THROW(static_cast<void>(rows.row(100)), ContractViolation);
    EXPECT_THROW(static_cast<void>(rows.row(row_items)), ContractViolation);
}

/// With one byte more than its rows have, the last row of a part takes it; with fewer, the last rows are cut off.
TEST_P(PublishedRowsOf, ShowWhatIsLeftOfAPart) {
    Manifest manifest = read_manifest(paths_).value();
    const std::uint64_t last = row_items - 1;
    PublishedPart& part = manifest.parts.back();
    const std::filesystem::path file = paths_.published_folder() / part.file;
    write_file(file, contents(file) + "x");

    ++part.sealed.bytes;
    EXPECT_TRUE(PublishedRows(paths_, manifest, GetParam().format, encoder_).row(last) == expected(last) + "x");
    part.sealed.bytes -= 1 + expected(last).size();
    EXPECT_EQ(PublishedRows(paths_, manifest, GetParam().format, encoder_).row(last), "");
}

INSTANTIATE_TEST_SUITE_P(
    Formats, PublishedRowsOf,
    testing::Values(RowsCase{OutputFormat::csv, OutputLayout::file}, RowsCase{OutputFormat::csv, OutputLayout::folder},
                    RowsCase{OutputFormat::jsonl, OutputLayout::file},
                    RowsCase{OutputFormat::jsonl, OutputLayout::folder},
                    RowsCase{OutputFormat::txt, OutputLayout::file}, RowsCase{OutputFormat::txt, OutputLayout::folder},
                    RowsCase{OutputFormat::npy, OutputLayout::file}, RowsCase{OutputFormat::npy, OutputLayout::folder}),
    [](const auto& test) {
        return extension_of(test.param.format).substr(1) +
               (test.param.layout == OutputLayout::file ? "File" : "Folder");
    });

}  // namespace
}  // namespace sluice::test
