#include <gtest/gtest.h>

#include <random>

#include "core/input/framing.hpp"
#include "tests/core/input/io_fixture.hpp"

namespace sluice::test {
namespace {

using Table = std::vector<std::vector<std::string>>;

std::string random_field(std::mt19937& random) {
    static constexpr std::string_view alphabet = "ab ,\"\n\r\\xyz";
    std::string field;
    for (auto left = random() % 12; left > 0; --left) {
        field += alphabet[random() % alphabet.size()];
    }
    return field;
}

Table random_table(std::mt19937& random, std::size_t columns) {
    Table table(random() % 300 + 1);
    for (auto& row : table) {
        for (std::size_t i = 0; i < columns; ++i) {
            row.push_back(random_field(random));
        }
    }
    return table;
}

std::string to_csv(const Table& table, std::mt19937& random) {
    std::string text;
    for (const auto& row : table) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            text += i == 0 ? "" : ",";
            if (row[i].find_first_of(",\"\r\n") == std::string::npos && random() % 2 == 0) {
                text += row[i];
                continue;
            }
            text += '"';
            for (const char byte : row[i]) {
                text += byte == '"' ? std::string("\"\"") : std::string(1, byte);
            }
            text += '"';
        }
        text += random() % 2 == 0 ? "\n" : "\r\n";
    }
    return text;
}

/// The grammar of RFC 4180, one byte at a time, without any care for speed; false where the text breaks it.
bool parse_plainly(const std::string& text, Table& table) {
    std::size_t at = 0;
    while (at < text.size()) {
        std::vector<std::string> row;
        while (true) {
            std::string field;
            if (text[at] == '"' && at < text.size()) {
                for (++at;; ++at) {
                    if (at == text.size()) {
                        return false;
                    }
                    if (text[at] == '"' && at + 1 < text.size() && text[at + 1] == '"') {
                        ++at;
                    } else if (text[at] == '"') {
                        ++at;
                        break;
                    }
                    field += text[at];
                }
            } else {
                while (at < text.size() && text[at] != ',' && text[at] != '\n' && text[at] != '\r') {
                    if (text[at] == '"') {
                        return false;
                    }
                    field += text[at++];
                }
            }
            row.push_back(field);
            if (at < text.size() && text[at] == ',') {
                ++at;
                continue;
            }
            break;
        }
        if (at < text.size()) {
            at += text.compare(at, 2, "\r\n") == 0 ? 1 : 0;
            if (text[at] != '\n') {
                return false;
            }
            ++at;
        }
        if (!table.empty() && table.front().size() != row.size()) {
            return false;
        }
        table.push_back(row);
    }
    return true;
}

std::vector<std::string> joined(const Table& table) {
    std::vector<std::string> items;
    for (const auto& row : table) {
        std::string item = row.front();
        for (std::size_t i = 1; i < row.size(); ++i) {
            item += " " + row[i];
        }
        items.push_back(item);
    }
    return items;
}

class RandomCsv : public IoTest {
protected:
    FakeCodec codec_;
};

TEST_F(RandomCsv, ComesBackAsItWasWritten) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        const Table table = random_table(random, 1 + seed % 4);
        const JobConfig::Input input{
            {write(std::to_string(seed), to_csv(table, random))}, InputFormat::csv, {}, false, false};

        const auto source = open_input(input, codec_);

        ASSERT_EQ(texts_of(*source, codec_), joined(table)) << "seed " << seed;
        ASSERT_EQ(read_all(*source, codec_, 1), read_all(*source, codec_, 1000)) << "seed " << seed;
        ASSERT_EQ(read_all(*source, codec_, 7), read_all(*source, codec_, 64)) << "seed " << seed;
    }
}

TEST_F(RandomCsv, IsAcceptedExactlyWhenAPlainParserAcceptsIt) {
    static constexpr std::string_view alphabet = "aab,,\"\"\"\n\r";
    int accepted = 0;
    int refused = 0;
    for (unsigned seed = 0; seed < 4000; ++seed) {
        std::mt19937 random(seed);
        std::string text;
        for (auto left = random() % 14 + 1; left > 0; --left) {
            text += alphabet[random() % alphabet.size()];
        }
        Table table;
        const bool good = parse_plainly(text, table);
        const JobConfig::Input input{{write(std::to_string(seed), text)}, InputFormat::csv, {}, false, false};

        if (good) {
            ++accepted;
            ASSERT_EQ(texts_of(*open_input(input, codec_), codec_), joined(table)) << "seed " << seed;
        } else {
            ++refused;
            ASSERT_NE(failure_of(input, codec_), "none") << "seed " << seed;
        }
    }
    EXPECT_GT(accepted, 500);
    EXPECT_GT(refused, 500);
}

TEST_F(RandomCsv, HasTheSameRecordsHoweverTheWindowGrows) {
    std::mt19937 random(7);
    const std::string text = to_csv(random_table(random, 3), random);
    const auto lengths = [&](std::size_t step) {
        CsvFraming framing(3);
        std::vector<std::size_t> found;
        std::size_t begin = 0;
        for (std::size_t end = 0; begin < text.size();) {
            end = std::max(end, std::min(end + step, text.size()));
            const auto frame = framing.find(std::string_view(text).substr(begin, end - begin), end == text.size());
            if (frame) {
                found.push_back(frame->length);
                begin += frame->consumed;
                end = begin;
            }
        }
        return found;
    };

    const std::vector<std::size_t> at_once = lengths(text.size());

    EXPECT_EQ(lengths(1), at_once);
    EXPECT_EQ(lengths(2), at_once);
    EXPECT_EQ(lengths(13), at_once);
}

}  // namespace
}  // namespace sluice::test
