#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>
#include <tuple>

#include "core/input/read_ahead.hpp"
#include "core/input/record_reader.hpp"
#include "core/sync/doorbell.hpp"
#include "tests/core/input/io_fixture.hpp"

namespace sluice::test {
namespace {

struct TextForm {
    const char* name;
    InputFormat format;
    const char* header;
    const char* before;
    const char* behind;
    std::vector<ColumnRef> columns;
};

void PrintTo(const TextForm& form, std::ostream* to) {
    *to << form.name;
}

const TextForm txt{"Txt", InputFormat::txt, "", "", "\n", {}};
const TextForm csv{"Csv", InputFormat::csv, "text,more\n", "", ",1\n", {ColumnRef("text")}};
const TextForm jsonl{"Jsonl", InputFormat::jsonl, "", "{\"text\":\"", "\"}\n", {ColumnRef("text")}};

/// Records of about `record_bytes`, of which each holds its number.
std::string text_of(const TextForm& form, std::size_t records, std::size_t record_bytes) {
    std::string text = form.header;
    for (std::size_t i = 0; i < records; ++i) {
        std::string words = std::to_string(i) + ' ';
        const std::size_t taken =
            std::char_traits<char>::length(form.before) + words.size() + std::char_traits<char>::length(form.behind);
        words += std::string(record_bytes > taken ? record_bytes - taken : 0, 'x');
        text += form.before + words + form.behind;
    }
    return text;
}

class BytesRead : public IoTest, public testing::WithParamInterface<std::tuple<TextForm, std::size_t>> {
protected:
    [[nodiscard]] static const TextForm& form() { return std::get<0>(GetParam()); }
    [[nodiscard]] static std::size_t record_bytes() { return std::get<1>(GetParam()); }
    [[nodiscard]] static std::size_t records() { return std::clamp<std::size_t>(500'000 / record_bytes(), 40, 1500); }

    [[nodiscard]] std::unique_ptr<ItemSource> open(std::optional<std::uint64_t> items_each = {}) const {
        return open_input({.paths = {write("items", text_of(form(), records(), record_bytes()))},
                           .format = form().format,
                           .columns = form().columns,
                           .header = form().format == InputFormat::csv,
                           .count = items_each},
                          codec_);
    }

    void expect_numbered(const std::vector<std::byte>& items, std::uint64_t items_each) const {
        const std::size_t item_bytes = codec_.shape().input_bytes;
        for (std::size_t i = 0; i < items.size() / item_bytes; ++i) {
            const auto* const words = reinterpret_cast<const char*>(items.data()) + i * item_bytes + 4;
            const std::string number = std::to_string(i / items_each) + ' ';
            ASSERT_EQ(std::string(words, number.size()), number) << "item " << i;
        }
    }

    static void expect_read_once(const ItemSource& source) {
        const InputReads reads = source.reads();
        EXPECT_GE(reads.items, source.bytes());
        EXPECT_LE(static_cast<double>(reads.items), 1.1 * static_cast<double>(reads.file));
        EXPECT_GE(reads.indexing, source.bytes());
        EXPECT_LE(static_cast<double>(reads.indexing),
                  1.1 * static_cast<double>(reads.file) + reading_window);  // the header
    }

    FakeCodec codec_{16};
};

TEST_P(BytesRead, AreThoseOfTheFileWhateverTheChunkSize) {
    for (const std::uint32_t chunk_items : {1U, 7U, 16U, 64U, 1000U}) {
        const auto source = open();

        expect_numbered(read_all(*source, codec_, chunk_items), 1);

        SCOPED_TRACE(chunk_items);
        expect_read_once(*source);
    }
}

TEST_P(BytesRead, AreThoseOfTheFileWhereItemsShareARecord) {
    constexpr std::uint64_t items_each = 5;
    for (const std::uint32_t chunk_items : {1U, 7U, 64U}) {
        const auto source = open(items_each);

        expect_numbered(read_all(*source, codec_, chunk_items), items_each);

        SCOPED_TRACE(chunk_items);
        expect_read_once(*source);
    }
}

TEST_P(BytesRead, AreThoseOfTheFileWhenSeveralReadersShareChunks) {
    for (const std::uint32_t chunk_items : {1U, 7U, 100U}) {
        const auto source = open();
        const ChunkGrid grid(source->count(), chunk_items);
        Doorbell bell;
        {
            ReadAhead input(*source, grid, {.input_bytes = codec_.shape().input_bytes, .staged = 4, .readers = 4},
                            bell);
            for (std::uint64_t id = 0; id < grid.chunks(); ++id) {
                for (std::uint32_t seen = bell.listen(); !input.take(id); seen = bell.listen()) {
                    bell.wait(seen);
                }
                input.release(id);
            }
        }

        SCOPED_TRACE(chunk_items);
        expect_read_once(*source);
    }
}

INSTANTIATE_TEST_SUITE_P(Texts, BytesRead,
                         testing::Combine(testing::Values(txt, csv, jsonl),
                                          testing::Values(20, 130, 3000, 20'000, 60'000)),
                         [](const auto& row) {
                             return std::string(std::get<0>(row.param).name) + std::to_string(std::get<1>(row.param));
                         });

class UnequalRecords : public IoTest {};

TEST_F(UnequalRecords, AreReadOnceToo) {
    std::mt19937 random(5);
    std::string text;
    for (int i = 0; i < 2000; ++i) {
        text += std::string(random() % 50 == 0 ? random() % 100'000 : random() % 100, 'x') + "\n";
    }
    const FakeCodec codec(16);
    for (const std::uint32_t chunk_items : {1U, 7U, 16U, 64U}) {
        const auto source =
            open_input({.paths = {write("items.txt", text)}, .format = InputFormat::txt, .columns = {}}, codec);

        static_cast<void>(read_all(*source, codec, chunk_items));

        EXPECT_LE(static_cast<double>(source->reads().items), 1.1 * static_cast<double>(text.size())) << chunk_items;
    }
}

}  // namespace
}  // namespace sluice::test
