#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/input/io_fixture.hpp"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Names = std::vector<ColumnRef>;

class JsonlSource : public IoTest {
protected:
    [[nodiscard]] JobConfig::Input input(std::string_view bytes, Names names) const {
        return {{write("items.jsonl", bytes)}, InputFormat::jsonl, std::move(names), false, false};
    }
    [[nodiscard]] std::vector<std::string> items(std::string_view bytes, Names names) const {
        return texts_of(*open_input(input(bytes, std::move(names)), codec_), codec_);
    }
    [[nodiscard]] std::string failure(std::string_view bytes) const {
        return failure_of(input(bytes, {std::string("a")}), codec_);
    }
    FakeCodec codec_;
};

TEST_F(JsonlSource, JoinsTheNamedColumnsByASpace) {
    EXPECT_THAT(items("{\"a\":\"x\",\"b\":\"y\"}\r\n{\"b\":\"2\",\"c\":[1,{\"a\":0}],\"a\":\"1\"}",
                      {std::string("b"), std::string("a")}),
                ElementsAre("y x", "2 1"));
}

TEST_F(JsonlSource, DecodesEscapes) {
    EXPECT_THAT(items(R"({"a":"t\u00e9\n\"\ud83d\ude00"})", {std::string("a")}), ElementsAre("té\n\"😀"));
}

TEST_F(JsonlSource, TakesNumbersAsTheyAreWritten) {
    EXPECT_THAT(items("{\"a\":42}\n{\"a\":-7}\n{\"a\":1.50}\n{\"a\":1e3}\n{\"a\":123456789012345678901234567890}\n"
                      "{\"a\":-0}\n{\"a\":0}\n{\"a\":-0.0}\n{\"a\":18446744073709551615}\n"
                      "{\"a\":-9223372036854775809}\n",
                      {std::string("a")}),
                ElementsAre("42", "-7", "1.50", "1e3", "123456789012345678901234567890", "-0", "0", "-0.0",
                            "18446744073709551615", "-9223372036854775809"));
}

TEST_F(JsonlSource, LooksForColumnsInTheOuterObjectOnly) {
    EXPECT_THAT(items(R"({"b":{"a":"inner"},"a":"outer"})", {std::string("a")}), ElementsAre("outer"));
    EXPECT_EQ(failure(R"({"b":{"a":"inner"}})"), "65 E-INP-032 items.jsonl:1: item 0: column 'a' is missing");
}

TEST_F(JsonlSource, RefusesValuesThatAreNoText) {
    for (const auto& [value, kind] : std::vector<std::pair<std::string, std::string>>{
             {"null", "null"}, {"true", "a boolean"}, {"[\"x\"]", "an array"}, {"{\"x\":1}", "an object"}}) {
        EXPECT_EQ(failure("{\"a\":\"x\"}\n{\"a\":" + value + "}\n"),
                  "65 E-INP-032 items.jsonl:2: item 1: column 'a' is " + kind + " (expected a string or a number)");
    }
}

class TakesIntegers final : public FakeCodec {
public:
    [[nodiscard]] bool takes_integers_as_text() const noexcept override { return true; }
};

TEST_F(JsonlSource, MayHaveArraysOfIntegers) {
    const TakesIntegers codec;
    const auto texts = [&](std::string_view bytes, const Names& names) {
        return texts_of(*open_input(input(bytes, names), codec), codec);
    };
    EXPECT_THAT(texts("{\"b\":[5,[6]],\"a\":[ 12,0 , -3]}\n{\"a\":[]}\n{\"a\":\"7 8\"}\n{\"a\":9}\n"
                      "{\"a\":[18446744073709551615,-9223372036854775808,-0]}\n",
                      {std::string("a")}),
                ElementsAre("12 0 -3", "", "7 8", "9", "18446744073709551615 -9223372036854775808 -0"));
    EXPECT_THAT(texts("{\"a\":[1,2],\"b\":[3]}\n", {std::string("b"), std::string("a")}), ElementsAre("3 1 2"));
    const auto refusal = [&](const std::string& value) {
        return failure_of(input("{\"a\":" + value + "}\n", {std::string("a")}), codec);
    };
    const std::string where = "65 E-INP-032 items.jsonl:1: item 0: ";
    for (const auto& [value, kind] : std::vector<std::pair<std::string, std::string>>{
             {"1.0", "a number that is no integer of 64 bits"},
             {"1e3", "a number that is no integer of 64 bits"},
             {"18446744073709551616", "a number that is no integer of 64 bits"},
             {"\"1\"", "a string"},
             {"null", "null"},
             {"true", "a boolean"},
             {"[2]", "an array"},
             {"{\"a\":2}", "an object"}}) {
        EXPECT_EQ(refusal("[1," + value + "]"), where + "the array in column 'a' has " + kind + " (expected integers)");
    }
    EXPECT_EQ(refusal("{\"x\":1}"),
              where + "column 'a' is an object (expected a string, a number or an array of integers)");
    EXPECT_EQ(refusal("[1],\"a\":[2]"), where + "column 'a' appears twice");
    EXPECT_THAT(refusal("[1"), HasSubstr("E-INP-035"));
}

TEST_F(JsonlSource, RefusesLinesThatAreNoObject) {
    for (const std::string line : {"[1]", "\"a\"", "3", "null", "true", "[]"}) {
        EXPECT_EQ(failure(line), "65 E-INP-032 items.jsonl:1: item 0: the line is not a JSON object") << line;
    }
}

TEST_F(JsonlSource, RefusesBrokenJson) {
    for (const std::string line : {"{\"a\":\"x\"", "{\"a\":\"x\"} {}", "{\"a\":\"x\",}", "{a:1}", "{\"a\":\"\\q\"}",
                                   "{\"a\":\"\xff\"}", "{\"a\":01}", "{\"a\":NaN}", "{\"a\":\"x\ty\"}", "x"}) {
        EXPECT_THAT(failure("{\"a\":\"x\"}\n" + line + "\n"),
                    HasSubstr("65 E-INP-035 items.jsonl:2: item 1: not valid JSON at byte "))
            << line;
    }
    EXPECT_THAT(failure("{\"a\":\"x\"}\n\n"),
                HasSubstr("65 E-INP-035 items.jsonl:2: item 1: not valid JSON: the line is blank"));
    EXPECT_THAT(failure("{\"a\":1e999}"), HasSubstr("65 E-INP-035 items.jsonl:1: item 0: a number too large"));
}

TEST_F(JsonlSource, SaysHowToMendALine) {
    const auto hint = [&](const std::string& line) {
        const JobConfig::Input bad = input(line, {std::string("a")});
        return error_of([&] { static_cast<void>(read_all(*open_input(bad, codec_), codec_, 5)); }).text().hint;
    };

    EXPECT_EQ(hint(" \t\n"), "remove blank lines");
    EXPECT_EQ(hint("{\"a\":1e400}\n"),
              "write it as a string, also in a column that is not read, or leave the item out");
    EXPECT_THAT(hint(R"({"a":"\ud83d"})"), HasSubstr("half of a surrogate pair"));
    EXPECT_EQ(hint("{\"a\":\n"), "write one JSON object per line, in UTF-8");
}

TEST_F(JsonlSource, RefusesAColumnThatIsThereTwice) {
    EXPECT_EQ(failure(R"({"a":"x","a":"y"})"), "65 E-INP-032 items.jsonl:1: item 0: column 'a' appears twice");
}

TEST_F(JsonlSource, SurvivesDeepNesting) {
    EXPECT_EQ(failure("{\"b\":" + std::string(1'000'000, '[')),
              "65 E-INP-035 items.jsonl:1: item 0: nested deeper than 64 levels");
}

TEST_F(JsonlSource, GivesTheSameBytesForAnyChunkSize) {
    std::string text;
    for (int i = 0; i < 200; ++i) {
        text +=
            "{\"a\":\"" + std::string(static_cast<std::size_t>(i % 50), 'x') + "\",\"n\":" + std::to_string(i) + "}\n";
    }
    const auto source = open_input(input(text, {std::string("n"), std::string("a")}), codec_);

    const std::vector<std::byte> at_once = read_all(*source, codec_, 200);

    for (const std::uint32_t step : {1U, 7U, 64U}) {
        EXPECT_EQ(read_all(*source, codec_, step), at_once);
    }
}

}  // namespace
}  // namespace sluice::test
