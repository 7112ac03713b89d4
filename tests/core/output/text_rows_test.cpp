#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "core/error.hpp"
#include "core/output/row_encoder.hpp"
#include "tests/support/output_codecs.hpp"

namespace sluice::test {
namespace {

using namespace std::string_literals;

const TextCodec codec(65534);

std::string written(OutputFormat format, const std::vector<std::string>& texts) {
    RowEncoder encoder(format, codec);
    const auto bytes = encoder.encode(0, static_cast<std::uint32_t>(texts.size()), codec.results(texts)).bytes;
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The row of one text without what stands around it.
std::string csv(const std::string& text) {
    const std::string row = written(OutputFormat::csv, {text});
    EXPECT_TRUE(row.starts_with("0,") && row.ends_with('\n'));
    return row.substr(2, row.size() - 3);
}

std::string json(const std::string& text) {
    const std::string row = written(OutputFormat::jsonl, {text});
    const std::string before = "{\"item\":0,\"text\":";
    EXPECT_TRUE(row.starts_with(before) && row.ends_with("}\n"));
    return row.substr(before.size(), row.size() - before.size() - 2);
}

std::string line(const std::string& text) {
    const std::string row = written(OutputFormat::txt, {text});
    EXPECT_TRUE(row.ends_with('\n'));
    return row.substr(0, row.size() - 1);
}

/// What stands between the commas of RFC 4180, one cell a record after its first.
std::vector<std::string> second_cells(const std::string& text) {
    std::vector<std::string> cells;
    for (std::size_t at = 0; at < text.size(); ++at) {
        at = text.find(',', at) + 1;
        std::string cell;
        if (text.at(at) != '"') {
            cell = text.substr(at, text.find('\n', at) - at);
            at += cell.size();
        } else {
            for (++at; text.at(at) != '"' || text.at(at + 1) == '"'; ++at) {
                at += text[at] == '"' ? 1 : 0;
                cell += text[at];
            }
            ++at;
        }
        EXPECT_EQ(text.at(at), '\n');
        cells.push_back(cell);
    }
    return cells;
}

TEST(TextRows, AreQuotedInCsvWhereTheyHaveTo) {
    EXPECT_EQ(csv("plain text; 'quoted'"), "plain text; 'quoted'");
    EXPECT_EQ(csv("a,b"), "\"a,b\"");
    EXPECT_EQ(csv("say \"no\""), "\"say \"\"no\"\"\"");
    EXPECT_EQ(csv("two\nlines"), "\"two\nlines\"");
    EXPECT_EQ(csv("cr\r"), "\"cr\r\"");
    EXPECT_EQ(csv("caf\xC3\xA9"), "caf\xC3\xA9");
    EXPECT_EQ(csv("a\0b"s), "a\0b"s);
    EXPECT_EQ(csv(""), "\"\"") << "nothing at all is a missing one";
}

TEST(TextRows, AreEscapedInJson) {
    EXPECT_EQ(json("plain"), "\"plain\"");
    EXPECT_EQ(json("\"\\/"), "\"\\\"\\\\/\"");
    EXPECT_EQ(json("\n\r\t\b\f"), "\"\\n\\r\\t\\b\\f\"");
    EXPECT_EQ(json("\0\x01\x1F\x7F"s), "\"\\u0000\\u0001\\u001f\x7F\"");
    EXPECT_EQ(json("caf\xC3\xA9 \xF0\x9F\x98\x80"), "\"caf\xC3\xA9 \xF0\x9F\x98\x80\"");
    EXPECT_EQ(json(""), "\"\"");
}

TEST(TextRows, AreOneLineEachInTxt) {
    EXPECT_EQ(line("plain, \"quoted\"\t"), "plain, \"quoted\"\t");
    EXPECT_EQ(line("a\nb\r\nc"), "a\\nb\\r\\nc");
    EXPECT_EQ(line("\\n"), "\\\\n");
    EXPECT_EQ(line("a\0b"s), "a\0b"s);
    EXPECT_EQ(line(""), "");
}

TEST(TextRows, HaveAReplacementForWhatIsNoUtf8InEveryFormat) {
    const std::string r = "\xEF\xBF\xBD";
    const std::vector<std::pair<std::string, std::string>> cases{
        {"\xED\xA0\x80", r + r + r},                // a lone surrogate
        {"\xC0\xAF", r + r},                        // overlong
        {"a\xE2\x82", "a" + r},                     // cut short
        {"\xE2\x82z\xFF", r + "z" + r},             // in the middle
        {"\xF4\x90\x80\x80", r + r + r + r},        // beyond U+10FFFF
        {"\x80\xC3\xA9\xFE", r + "\xC3\xA9" + r}};  // beside a whole one
    for (const auto& [text, expected] : cases) {
        EXPECT_EQ(csv(text), expected);
        EXPECT_EQ(json(text), "\"" + expected + "\"");
        EXPECT_EQ(line(text), expected);
    }
}

TEST(TextRows, AreNothingWhereTheyAreMissing) {
    std::vector<std::byte> record = codec.results(std::vector<std::string>{"text"});
    codec.write_missing(record);
    const auto row = [&](OutputFormat format) {
        RowEncoder encoder(format, codec);
        const auto bytes = encoder.encode(7, 1, record).bytes;
        return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };

    EXPECT_EQ(row(OutputFormat::csv), "7,\n");
    EXPECT_EQ(row(OutputFormat::jsonl), "{\"item\":7,\"text\":null}\n");
    EXPECT_EQ(row(OutputFormat::txt), "\n");
}

TEST(TextRows, ReadBackWhateverTheyWere) {
    std::mt19937_64 random(std::random_device{}());
    const std::vector<std::string> characters{"a",   "b", "\"", ",",  "\n",       "\r",           "\\",
                                              "\0"s, " ", "'",  "\t", "\xC3\xA9", "\xE2\x82\xAC", "\x1B"};
    std::vector<std::string> texts{"", std::string(65534, '\0'), std::string(65534, '"'), std::string(65534, 'x')};
    for (int i = 0; i < 300; ++i) {
        std::string text;
        for (std::uint64_t length = random() % 40; length > 0; --length) {
            text += characters[random() % characters.size()];
        }
        texts.push_back(text);
    }

    std::istringstream rows(written(OutputFormat::jsonl, texts));
    std::istringstream lines(written(OutputFormat::txt, texts));
    const std::vector<std::string> cells = second_cells(written(OutputFormat::csv, texts));
    ASSERT_EQ(cells.size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        std::string row;
        std::getline(rows, row);
        EXPECT_EQ(nlohmann::json::parse(row).at("text"), texts[i]);
        EXPECT_EQ(cells[i], texts[i]);
        std::getline(lines, row);
        std::string unescaped;
        for (std::size_t at = 0; at < row.size(); ++at) {
            unescaped += row[at] != '\\' ? row[at] : row.at(++at) == 'n' ? '\n' : row[at] == 'r' ? '\r' : row[at];
        }
        EXPECT_EQ(unescaped, texts[i]);
    }
}

// Numbers beside text, several texts in a field, records in which only the app finds its way.
class MixedCodec final : public FieldsCodec {
public:
    MixedCodec()
        : FieldsCodec(
              {{"length", FieldType::int32, 1}, {"word", FieldType::text, 2}, {"score", FieldType::float32, 1}}) {}
    [[nodiscard]] IoShape shape() const noexcept override { return {1, 3}; }
    void decode(std::span<const std::byte> record, Row& row) const override {
        const std::string_view letters(reinterpret_cast<const char*>(record.data()), record.size());
        row.int32(letters[0]);
        row.text(letters.substr(1, 1));
        row.missing();
        row.float32(letters[2] == '!' ? std::numeric_limits<float>::infinity() : 0.5F);
    }
};

TEST(TextRows, StandBesideNumbers) {
    const MixedCodec mixed;
    const auto row = [&](OutputFormat format, std::string_view records) {
        RowEncoder encoder(format, mixed);
        const auto count = static_cast<std::uint32_t>(records.size() / 3);
        const RowEncoder::Rows rows = encoder.encode(0, count, std::as_bytes(std::span(records)));
        return encoder.header(1) + std::string(reinterpret_cast<const char*>(rows.bytes.data()), rows.bytes.size()) +
               std::to_string(rows.nonfinite);
    };

    EXPECT_EQ(row(OutputFormat::csv, "\1a.\2,!"), "item,length,word_0,word_1,score\n0,1,a,,0.5\n1,2,\",\",,inf\n1");
    EXPECT_EQ(row(OutputFormat::jsonl, "\1a."), "{\"item\":0,\"length\":1,\"words\":[\"a\",null],\"score\":0.5}\n0");
}

/// Gives another number of values, or others, than its fields are.
class WrongCodec final : public FieldsCodec {
public:
    explicit WrongCodec(int way) : FieldsCodec({{"label", FieldType::int32, 2}}), way_(way) {}
    void decode(std::span<const std::byte> record, Row& row) const override {
        row.int32(1);
        switch (way_) {
            case 0:
                return;
            case 1:
                row.float32(1);
                return;
            case 2:
                row.int32(1);
                row.int32(1);
                return;
            case 3:
                row.int32(1);
                row.missing();
                return;
            default:
                row.fixed(record);
        }
    }

private:
    int way_;
};

/// A name of up to 5 bytes, a number, a float; nothing where the number is 0.
class NameCodec final : public FieldsCodec {
public:
    static constexpr std::uint32_t longest = 5;

    NameCodec()
        : FieldsCodec({{.name = "name", .type = FieldType::text, .most_bytes = longest},
                       {.name = "length", .type = FieldType::int32, .in_txt = false},
                       {.name = "score", .type = FieldType::float32, .in_txt = false}}) {}

    [[nodiscard]] IoShape shape() const noexcept override { return {1, 1}; }
    void decode(std::span<const std::byte> record, Row& row) const override {
        const auto length = std::to_integer<std::int32_t>(record.front());
        if (length == 0) {
            row.missing();
            row.missing();
            row.missing();
            return;
        }
        row.text(std::string_view("\xff,cde").substr(0, static_cast<std::size_t>(length)));
        row.int32(length);
        row.float32(0.5F);
    }
};

std::string rows_of_names(OutputFormat format) {
    const NameCodec names;
    RowEncoder encoder(format, names);
    constexpr std::array records{std::byte{2}, std::byte{0}, std::byte{5}};
    const auto bytes = encoder.encode(0, 3, records).bytes;
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(TextRows, OfAnAppWithMoreThanATextHaveTheTextAloneInTxt) {
    EXPECT_EQ(rows_of_names(OutputFormat::txt), "\uFFFD,\n\n\uFFFD,cde\n");
    EXPECT_EQ(rows_of_names(OutputFormat::csv), "0,\"\uFFFD,\",2,0.5\n1,,,\n2,\"\uFFFD,cde\",5,0.5\n");
}

TEST(TextRows, OfALimitedLengthAreBytesInNpy) {
    const std::string half = "\0\0\0\x3F"s;

    EXPECT_EQ(rows_of_names(OutputFormat::npy), "\xff,\0\0\0"s + "\2\0\0\0"s + half + "\0\0\0\0\0"s + "\0\0\0\x80"s +
                                                    "\0\0\xC0\x7F"s + "\xff,cde"s + "\5\0\0\0"s + half);
    const NameCodec names;
    const RowEncoder encoder(OutputFormat::npy, names);
    EXPECT_THAT(encoder.header(3), testing::HasSubstr("[('name', '|S5'), ('length', '<i4'), ('score', '<f4')]"));
    EXPECT_EQ(encoder.estimate_row_bytes(3), 13U);
}

TEST(TextRows, HaveTheValuesOfTheirColumns) {
    const std::vector<std::byte> record(8);
    for (int way = 0; way < 5; ++way) {
        const WrongCodec wrong(way);
        RowEncoder encoder(OutputFormat::csv, wrong);
        EXPECT_THROW(static_cast<void>(encoder.encode(0, 1, record)), ContractViolation) << way;
    }
}

std::string refusal(OutputFormat format, const std::vector<OutputField>& fields) {
    try {
        check_format(format, fields);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::configuration);
        return error.text().id + " " + error.text().where + ": " + error.text().what + "; " + error.text().hint;
    }
    return "none";
}

TEST(Formats, AreRefusedForWhatTheyCannotHold) {
    const OutputField label{"label", FieldType::int32, 1};
    const OutputField text{"text", FieldType::text, 1};
    const OutputField texts{"text", FieldType::text, 2};
    const std::string more =
        "E-OUT-027 output.format: got \"txt\", but the results are not one text an item; choose csv";

    EXPECT_EQ(refusal(OutputFormat::npy, {label, text}),
              "E-OUT-027 output.format: got \"npy\", but 'text' is text (expected numbers only); choose csv or jsonl");
    EXPECT_THAT(refusal(OutputFormat::npy, {text}), testing::EndsWith("choose csv, jsonl or txt"));
    EXPECT_EQ(refusal(OutputFormat::npy, {label}), "none");
    EXPECT_EQ(refusal(OutputFormat::txt, {text}), "none");
    EXPECT_EQ(refusal(OutputFormat::txt, {label}), more + ", jsonl or npy");
    EXPECT_EQ(refusal(OutputFormat::txt, {text, label}), more + " or jsonl");
    EXPECT_EQ(refusal(OutputFormat::txt, {texts}), more + " or jsonl");
    OutputField score{.name = "score", .type = FieldType::float32, .in_txt = false};
    EXPECT_EQ(refusal(OutputFormat::txt, {text, score}), "none") << "it is left out";
    score.asked_by = "generate.score";
    EXPECT_EQ(refusal(OutputFormat::txt, {text, score}),
              "E-CFG-105 generate.score: adds 'score', and txt output is one text an item; remove it, or write csv or "
              "jsonl");
    EXPECT_EQ(refusal(OutputFormat::jsonl, {text, score}), "none");
    EXPECT_EQ(refusal(OutputFormat::csv, {label, texts}), "none");
    EXPECT_EQ(refusal(OutputFormat::jsonl, {label, texts}), "none");
}

}  // namespace
}  // namespace sluice::test
