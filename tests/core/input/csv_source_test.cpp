#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/input/record_reader.hpp"
#include "tests/core/input/io_fixture.hpp"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Columns = std::vector<ColumnRef>;

class CsvSource : public IoTest {
protected:
    [[nodiscard]] JobConfig::Input input(std::string_view bytes, Columns columns = {}, bool header = false) const {
        return {{write("items.csv", bytes)}, InputFormat::csv, std::move(columns), header, false};
    }
    [[nodiscard]] std::vector<std::string> items(std::string_view bytes, Columns columns = {},
                                                 bool header = false) const {
        return texts_of(*open_input(input(bytes, std::move(columns), header), codec_), codec_);
    }
    [[nodiscard]] std::string failure(std::string_view bytes, Columns columns = {}, bool header = false) const {
        return failure_of(input(bytes, std::move(columns), header), codec_);
    }
    FakeCodec codec_;
};

TEST_F(CsvSource, JoinsTheChosenColumnsByASpaceInTheOrderAskedFor) {
    EXPECT_THAT(items("1,title,text\n2,b,c\n", {2U, 3U}), ElementsAre("title text", "b c"));
    EXPECT_THAT(items("1,title,text\n2,b,c\n", {3U, 1U, 1U}), ElementsAre("text 1 1", "c 2 2"));
}

TEST_F(CsvSource, TakesAllColumnsWhenNoneAreChosen) {
    EXPECT_THAT(items("a,b\n,\n"), ElementsAre("a b", " "));
}

TEST_F(CsvSource, UnderstandsQuotes) {
    EXPECT_THAT(items("\"a,b\",\"say \"\"hi\"\"\"\n\"\",\"\"\"\"\n", {1U, 2U}), ElementsAre("a,b say \"hi\"", " \""));
    EXPECT_THAT(items("\"\"\"\"\"\",x\n", {1U}), ElementsAre("\"\""));
}

TEST_F(CsvSource, KeepsLineEndsInsideQuotes) {
    EXPECT_THAT(items("\"a\nb\r\nc\",1\r\n\"\n\",2\n", {1U}), ElementsAre("a\nb\r\nc", "\n"));
}

TEST_F(CsvSource, KeepsTheBackslashNOfPublicDatasets) {
    EXPECT_THAT(items("\"3\",\"a\\nb\",\"c\\\"\n", {2U, 3U}), ElementsAre("a\\nb c\\"));
}

TEST_F(CsvSource, AcceptsAnyLineEndAndNoneAtTheEnd) {
    EXPECT_THAT(items("a,1\r\nb,2\nc,\"3\"", {2U}), ElementsAre("1", "2", "3"));
    EXPECT_THAT(items("a,", {1U, 2U}), ElementsAre("a "));
}

TEST_F(CsvSource, TakesABlankLineOfASingleColumnAsAnEmptyItem) {
    EXPECT_THAT(items("a\n\nb\n"), ElementsAre("a", "", "b"));
}

TEST_F(CsvSource, FindsColumnsByTheNamesInTheHeader) {
    const char* const text =
        "\xef\xbb\xbf"
        "class,\"the \"\"title\"\"\",text\n1,a,b\n2,c,d\n";

    EXPECT_THAT(items(text, {std::string("text"), std::string("the \"title\"")}, true), ElementsAre("b a", "d c"));
    EXPECT_THAT(items(text, {std::string("class"), 2U}, true), ElementsAre("1 a", "2 c"));
}

TEST_F(CsvSource, ReadsAHeaderThatSpansLines) {
    EXPECT_THAT(items("\"a\nb\",c\n1,2\n", {std::string("a\nb")}, true), ElementsAre("1"));
}

TEST_F(CsvSource, SaysWhichColumnsThereAre) {
    EXPECT_EQ(failure("a,b\n1,2\n", {3U}),
              "65 E-INP-032 items.csv:1: item 0: there is no column 3 (got 2 columns, "
              "counted from 1)");
    EXPECT_EQ(failure("a,b\n1,2\n", {3U}, true),
              "65 E-INP-032 items.csv:1: header: there is no column 3 (got 2 "
              "columns, counted from 1)");
    EXPECT_EQ(failure("a,b\n1,2\n", {std::string("c")}, true),
              "65 E-INP-032 items.csv:1: header: there is no column 'c' (got 'a', 'b')");
    EXPECT_EQ(failure("a,b\n1,2\n", {std::string("a")}),
              "65 E-INP-032 items.csv:1: item 0: there is no column 'a' without a header");
    EXPECT_EQ(failure("a,a\n1,2\n", {std::string("a")}, true),
              "65 E-INP-032 items.csv:1: header: two columns are called 'a'");
    EXPECT_EQ(failure("a\n1\n", {0U}),
              "65 E-INP-032 items.csv:1: item 0: there is no column 0 (got 1 column, counted from 1)");
}

TEST_F(CsvSource, GivesItemAndLineOfARecordThatBreaksTheFormat) {
    const std::string good = "\"x\ny\",1\nb,2\n";  // three lines, two items

    EXPECT_EQ(failure(good + "c\n"),
              "65 E-INP-032 items.csv:4: item 2: got 1 column, expected 2 as in the first record");
    EXPECT_EQ(failure(good + "c,3,4\n"),
              "65 E-INP-032 items.csv:4: item 2: got 3 columns, expected 2 as in the first record");
    EXPECT_EQ(failure(good + "\n"),
              "65 E-INP-032 items.csv:4: item 2: got 1 column, expected 2 as in the first record");
    EXPECT_EQ(failure(good + "c\"d,3\n"),
              "65 E-INP-035 items.csv:4: item 2: a quote inside column 1, which does not begin with one");
    EXPECT_EQ(failure(good + "c,\"3\"4\n"),
              "65 E-INP-035 items.csv:4: item 2: column 2 continues after its closing quote (got '4', expected a comma "
              "or the end of the line)");
    EXPECT_EQ(failure(good + "c,\"3\" \n"),
              "65 E-INP-035 items.csv:4: item 2: column 2 continues after its closing quote (got ' ', expected a comma "
              "or the end of the line)");
    EXPECT_EQ(failure(good + "c,\"3\nd,4\n"), "65 E-INP-035 items.csv:4: item 2: the file ends inside a quoted field");
    EXPECT_EQ(failure(good + "c,3\rd,4\n"),
              "65 E-INP-035 items.csv:4: item 2: a carriage return without line feed outside quotes");
    EXPECT_EQ(failure(good + "c,3\r"),
              "65 E-INP-035 items.csv:4: item 2: a carriage return without line feed outside quotes");
    EXPECT_EQ(failure("a,\"b\n1,2\n", {}, true),
              "65 E-INP-035 items.csv:1: header: the file ends inside a quoted field");
}

TEST_F(CsvSource, FindsBrokenRecordsWhenItIsOpened) {
    const JobConfig::Input in = input("a,b\nc\n");

    EXPECT_EQ(error_of([&] { static_cast<void>(open_input(in, codec_)); }).text().id, "E-INP-032");
}

TEST_F(CsvSource, StopsAtAForgottenQuoteInsteadOfReadingOnForEver) {
    const std::string text = "a,\"b\n" + std::string(longest_record + 100, 'x') + "\n";

    const Error error = error_of([&] { static_cast<void>(open_input(input(text), codec_)); });

    EXPECT_EQ(summary_of(error), "65 E-INP-035 items.csv:1: item 0: longer than 16777216 bytes");
    EXPECT_EQ(error.text().hint, "close the quote that opens here");
}

TEST_F(CsvSource, NeedsARecordBelowTheHeader) {
    JobConfig::Input in = input("a,b\n", {2U}, true);
    EXPECT_EQ(failure_of(in, codec_), "65 E-INP-029 items.csv: no items (expected at least one)");

    in.allow_empty = true;
    EXPECT_EQ(open_input(in, codec_)->count(), 0U);

    in.paths = {write("items.csv", "")};
    EXPECT_EQ(open_input(in, codec_)->count(), 0U);
}

TEST_F(CsvSource, BoundsTheNumberOfColumns) {
    EXPECT_EQ(open_input(input(std::string(65'535, ',')), codec_)->count(), 1U);
    EXPECT_EQ(failure(std::string(65'536, ',')), "65 E-INP-035 items.csv:1: item 0: more than 65536 columns");
}

TEST_F(CsvSource, NamesTheFirstColumnsOfAWideHeader) {
    std::string header = "c";
    for (int i = 0; i < 1000; ++i) {
        header += ",d";
    }

    const std::string text = failure(header + "\n", {std::string("x")}, true);

    EXPECT_THAT(text, testing::EndsWith("'d', 'd', …)"));
    EXPECT_LT(text.size(), 200U);
}

TEST_F(CsvSource, EscapesHostileNamesInMessages) {
    EXPECT_EQ(failure("a\n1\n", {std::string("\x1b[31m\n")}, true),
              "65 E-INP-032 items.csv:1: header: there is no column '\\x1b[31m\\x0a' (got 'a')");
}

TEST_F(CsvSource, ReadsFieldsAcrossWindowBoundaries) {
    const std::string field(reading_window - 3, 'x');
    const std::string record = "\"" + field + "\"\"\r\n\",end\r\n";

    const auto source = open_input(input(record + record + record, {2U}), codec_);

    EXPECT_THAT(texts_of(*source, codec_), ElementsAre("end", "end", "end"));
}

}  // namespace
}  // namespace sluice::test
