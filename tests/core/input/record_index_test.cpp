#include "core/input/record_index.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <random>

#include "core/input/framing.hpp"
#include "core/input/record_reader.hpp"
#include "tests/core/input/io_fixture.hpp"

namespace sluice::test {
namespace {

using Checkpoint = RecordIndex::Checkpoint;

/// Every record's place, and behind them the end; or what is wrong.
struct Places {
    std::vector<Checkpoint> all;
    std::string problem;
};

std::string text_of(const Error& error) {
    return summary_of(error) + "; " + error.text().hint;
}

template <class Framing>
Places read_one_by_one(const InputFile& file, const RecordRange& range, Framing framing) {
    Places places;
    try {
        RecordReader reader(file, range, std::move(framing));
        do {
            places.all.push_back({places.all.size(), reader.offset(), reader.line()});
        } while (reader.next());
    } catch (const Error& error) {
        places.problem = text_of(error);
    }
    return places;
}

std::string difference(const RecordIndex& index, const std::vector<Checkpoint>& expected) {
    const std::vector<Checkpoint>& found = index.checkpoints();
    if (found.back() != expected.back()) {
        return "another end";
    }
    for (const Checkpoint& at : found) {
        if (at != expected[at.record]) {
            return "another place of record " + std::to_string(at.record);
        }
    }
    for (std::uint64_t record = 0; record + 1 < expected.size(); record += 64) {
        if (std::ranges::find(found, record, &Checkpoint::record) == found.end()) {
            return "no place of record " + std::to_string(record);
        }
    }
    return {};
}

RecordIndex index_records(const InputFile& file, const RecordRange& range, std::size_t columns,
                          const IndexOptions& options = {}) {
    RecordIndex index({.record = 0, .offset = range.begin, .line = range.line});
    find_records(file, range, columns, options, [&](auto further) { index.extend(further); });
    return index;
}

class RecordIndexTest : public IoTest {
protected:
    /// How the index of that part of a file differs from what reading record by record says; "" if it does not.
    [[nodiscard]] std::string difference_in(const InputFile& file, const RecordRange& range, std::size_t columns,
                                            const IndexOptions& options) {
        const Places expected = columns == 0 ? read_one_by_one(file, range, LineFraming())
                                             : read_one_by_one(file, range, CsvFraming(columns));
        ++(expected.problem.empty() ? good_ : bad_);
        try {
            const RecordIndex index = index_records(file, range, columns, options);
            return expected.problem.empty() ? difference(index, expected.all)
                                            : "accepted, expected " + expected.problem;
        } catch (const Error& error) {
            return text_of(error) == expected.problem ? "" : text_of(error) + ", expected " + expected.problem;
        }
    }

    /// The first difference among `texts`, each of them a part of one file, cut by `way` with `columns`.
    template <class Columns, class Way>
    [[nodiscard]] std::string difference_among(const std::vector<std::string>& texts, Columns columns, Way way) {
        std::string all;
        for (const std::string& text : texts) {
            all += text;
        }
        const InputFile file(write("texts", all));
        RecordRange range;
        for (std::size_t i = 0; i < texts.size(); ++i) {
            range = {.begin = range.end, .end = range.end + texts[i].size()};
            if (const std::string found = difference_in(file, range, columns(i), way()); !found.empty()) {
                return "text " + std::to_string(i) + ": " + found;
            }
        }
        return {};
    }

    [[nodiscard]] int good() const { return good_; }
    [[nodiscard]] int bad() const { return bad_; }

private:
    int good_ = 0;
    int bad_ = 0;
};

std::string random_lines(std::mt19937& random) {
    std::string text;
    for (auto left = random() % 200; left > 0; --left) {
        text += std::string(random() % 4 == 0 ? random() % 200 : random() % 3, 'a');
        text += random() % 3 == 0 ? "\r\n" : "\n";
    }
    return text;
}

std::string hostile_field(std::mt19937& random) {
    static constexpr std::string_view alphabet = "ab ,\"\n\rxyz";
    std::string field;
    for (auto left = random() % (random() % 8 == 0 ? 150 : 8); left > 0; --left) {
        field += alphabet[random() % alphabet.size()];
    }
    if (field.find_first_of(",\"\r\n") == std::string::npos && random() % 2 == 0) {
        return field;
    }
    std::string quoted = "\"";
    for (const char byte : field) {
        quoted += byte == '"' ? std::string("\"\"") : std::string(1, byte);
    }
    return quoted + '"';
}

std::string random_csv(std::mt19937& random, std::size_t columns) {
    std::string text;
    for (auto left = random() % 150; left > 0; --left) {
        for (std::size_t i = 0; i < columns; ++i) {
            text += (i == 0 ? "" : ",") + hostile_field(random);
        }
        text += random() % 2 == 0 ? "\n" : "\r\n";
    }
    return text;
}

/// Nothing, or a few bytes that are cut off, put in or replaced.
void spoil(std::string& text, std::mt19937& random) {
    static constexpr std::string_view bytes("\"\"\",,\n\r\0a", 9);
    for (auto left = random() % 3; left > 0 && !text.empty(); --left) {
        const std::size_t at = random() % text.size();
        const char byte = bytes[random() % bytes.size()];
        switch (random() % 4) {
            case 0:
                text.resize(at);
                break;
            case 1:
                text.insert(at, 1, byte);
                break;
            case 2:
                text.erase(at, 1);
                break;
            default:
                text[at] = byte;
        }
    }
}

/// Ways to cut the text that tear apart whatever belongs together.
IndexOptions random_way(std::mt19937& random) {
    static const std::vector<BlockScanner> scanners = block_scanners();
    return {.threads = static_cast<std::uint32_t>(1 + random() % 4),
            .block_bytes = random() % 2 == 0 ? 1 + random() % 8 : 1 + random() % 300,
            .scanner = scanners[random() % scanners.size()]};
}

TEST_F(RecordIndexTest, FindsTheLinesThatReadingOneByOneFinds) {
    std::mt19937 random(11);
    std::vector<std::string> texts(150);
    for (std::string& text : texts) {
        text = random_lines(random);
        spoil(text, random);
    }

    const std::string found = difference_among(
        texts, [](std::size_t) { return 0; }, [&] { return random_way(random); });

    EXPECT_EQ(found, "");
    EXPECT_GT(good(), 50);
    EXPECT_GT(bad(), 3);
}

TEST_F(RecordIndexTest, FindsTheCsvRecordsAndTheMistakeThatReadingOneByOneFinds) {
    std::mt19937 random(12);
    const auto columns = [](std::size_t text) { return 1 + text % 3; };
    std::vector<std::string> texts;
    while (texts.size() < 400) {
        texts.push_back(random_csv(random, columns(texts.size())));
        spoil(texts.back(), random);
    }

    const std::string found = difference_among(texts, columns, [&] { return random_way(random); });

    EXPECT_EQ(found, "");
    EXPECT_GT(good(), 80);
    EXPECT_GT(bad(), 80);
}

TEST_F(RecordIndexTest, IsNotMisledByAnyShortText) {
    static constexpr std::string_view alphabet = "aab,,\"\"\"\n\n\r";
    std::mt19937 random(13);
    std::vector<std::string> texts(1000);
    for (std::string& text : texts) {
        for (auto left = random() % 10; left > 0; --left) {
            text += alphabet[random() % alphabet.size()];
        }
    }

    const std::string found = difference_among(
        texts, [](std::size_t text) { return 1 + text % 2; }, [&] { return random_way(random); });

    EXPECT_EQ(found, "");
    EXPECT_GT(good(), 100);
    EXPECT_GT(bad(), 100);
}

TEST_F(RecordIndexTest, KnowsALongRecordAcrossBlocks) {
    const std::filesystem::path path = write("text", "a\n" + std::string(longest_record, 'x'));
    for (const std::string_view more : {"", "\r\n", "x", "x\n"}) {
        std::filesystem::resize_file(path, 2 + longest_record);
        std::ofstream(path, std::ios::app | std::ios::binary) << more;
        const InputFile file(path);
        for (const std::size_t columns : {0U, 1U}) {
            EXPECT_EQ(difference_in(file, {.begin = 0, .end = file.size()}, columns, {.threads = 3}), "") << more;
        }
    }
    EXPECT_EQ(good(), 4);
    EXPECT_EQ(bad(), 4);
}

TEST_F(RecordIndexTest, TellsTheFirstOfManyMistakes) {
    std::string text;
    for (int i = 0; i < 3000; ++i) {
        text += i < 1500 ? "1,2\n" : "1,2,3\n";
    }
    const std::vector<std::string> texts(20, text);

    const std::string found = difference_among(
        texts, [](std::size_t) { return 2; }, [] { return IndexOptions{.threads = 4, .block_bytes = 64}; });

    EXPECT_EQ(found, "");
    EXPECT_EQ(bad(), 20);
}

/// A mistake that is told, wherever it is put into good records of two columns: so many bytes at such a place.
struct Mistake {
    std::size_t at;
    std::string_view bytes;
};

/// Several windows of records, a few of them long.
std::string good_records() {
    std::string text;
    for (int i = 0; text.size() < 3 * reading_window; ++i) {
        text += "abcdefgh," + std::string(i % 64 == 0 ? 3000 : 6, 'z') + "\n";
    }
    return text;
}

std::string spoilt(std::string text, const std::vector<Mistake>& mistakes) {
    for (const Mistake& mistake : mistakes) {
        text.replace(mistake.at, mistake.bytes.size(), mistake.bytes);
    }
    return text;
}

TEST_F(RecordIndexTest, TellsTheFirstMistakeWhateverStandsBehindIt) {
    static constexpr std::array<std::string_view, 4> mistakes{std::string_view("\0", 1), "a\"", "\rb", ",,\n"};
    static const std::vector<BlockScanner> scanners = block_scanners();
    const std::string good = good_records();
    std::mt19937 random(14);
    for (int turn = 0; turn < 32; ++turn) {
        SCOPED_TRACE(turn);
        const std::string_view one = mistakes[turn % 4];
        const std::string_view other = mistakes[turn / 4 % 4];
        const std::size_t at = random() % (good.size() - 10'000);
        // Most often in the same window.
        const std::size_t behind = at + one.size() + random() % (turn % 5 == 0 ? 10 : 8000);
        const IndexOptions way{.threads = static_cast<std::uint32_t>(1 + random() % 4),
                               .block_bytes = turn % 2 == 0 ? reading_window : 1000 + random() % 100'000,
                               .scanner = scanners[random() % scanners.size()]};
        std::vector<std::string> told;

        for (const std::vector<Mistake>& some : {std::vector<Mistake>{{at, one}}, {{at, one}, {behind, other}}}) {
            const InputFile file(write("text", spoilt(good, some)));
            const RecordRange all{.begin = 0, .end = file.size()};
            told.push_back(read_one_by_one(file, all, CsvFraming(2)).problem);
            EXPECT_EQ(difference_in(file, all, 2, way), "");
        }

        EXPECT_NE(told.front(), "");
        EXPECT_EQ(told.front(), told.back());
    }
}

TEST_F(RecordIndexTest, ReadsLittleMoreThanTheRecordsThatAreWanted) {
    constexpr std::size_t record_bytes = 60'000;
    std::string text;
    for (int i = 0; i < 100; ++i) {
        text += std::string(record_bytes - 1, 'x') + "\n";
    }
    const InputFile file(write("text", text));

    const RecordIndex index = index_records(file, {.begin = 0, .end = file.size()}, 0);

    EXPECT_EQ(index.granularity(), 1U);
    for (std::uint64_t first = 0; first + 16 <= 100; first += 16) {
        const RecordRange range = index.range_of(first, 16);
        EXPECT_LE(range.end - range.begin, 16 * record_bytes * 11 / 10);
        EXPECT_LE(range.begin, first * record_bytes);
        EXPECT_GE(range.end, (first + 16) * record_bytes);
    }
}

TEST_F(RecordIndexTest, HasAPlaceToBeginAtEveryMultipleOfItsGranularity) {
    for (const std::size_t record_bytes : {1U, 100U, 700U, 3000U, 20'000U}) {
        std::string text;
        for (int i = 0; i < 300; ++i) {
            text += std::string(record_bytes - 1, 'x') + "\n";
        }
        const InputFile file(write("text", text));

        const RecordIndex index = index_records(file, {.begin = 0, .end = file.size()}, 0);

        const std::uint32_t step = index.granularity();
        EXPECT_LE(step, 64U);
        for (std::uint64_t first = 0; first + step <= 300; first += step) {
            const RecordRange range = index.range_of(first, step);
            EXPECT_EQ(range.begin, first * record_bytes);
            EXPECT_EQ(range.end, (first + step) * record_bytes);
            EXPECT_EQ(range.item, first);
            EXPECT_EQ(range.line, first + 1);
        }
    }
}

TEST_F(RecordIndexTest, TakesLittleMemoryBesideItsText) {
    for (const std::size_t record_bytes : {2U, 20U, 500U, 700U, 5000U, 60'000U}) {
        constexpr std::size_t records = 640;
        std::string text;
        for (std::size_t i = 0; i < records; ++i) {
            text += std::string(record_bytes - 1, 'x') + "\n";
        }
        const InputFile file(write("text", text));

        const RecordIndex index = index_records(file, {.begin = 0, .end = file.size()}, 0);

        const std::size_t bytes = (index.checkpoints().size() - 1) * sizeof(Checkpoint);
        EXPECT_LE(bytes, record_bytes <= 512 ? records * 4 / 10 : text.size() / 500) << record_bytes;
    }
}

TEST_F(RecordIndexTest, IsMadeByOneThreadWhereMoreWouldNotHelp) {
    constexpr std::uint64_t mebibyte = 1 << 20;

    EXPECT_EQ(choose_index_threads(16, 0), 1U);
    EXPECT_EQ(choose_index_threads(16, mebibyte), 1U);
    EXPECT_EQ(choose_index_threads(16, 8 * mebibyte), 4U);
    EXPECT_EQ(choose_index_threads(16, 1200 * mebibyte), 16U);
    EXPECT_EQ(choose_index_threads(2, 1200 * mebibyte), 2U);
    EXPECT_EQ(choose_index_threads(0, 1200 * mebibyte), 1U);
    EXPECT_EQ(choose_index_threads(128, std::uint64_t{1} << 40), 32U);
}

}  // namespace
}  // namespace sluice::test
