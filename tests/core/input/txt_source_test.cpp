#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <thread>

#include "core/input/record_reader.hpp"
#include "tests/core/input/io_fixture.hpp"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TxtSource : public IoTest {
protected:
    [[nodiscard]] JobConfig::Input input(std::string_view bytes, bool allow_empty = false) const {
        return {{write("items.txt", bytes)}, InputFormat::txt, {}, false, allow_empty};
    }
    [[nodiscard]] std::vector<std::string> items(std::string_view bytes, bool allow_empty = false) const {
        return texts_of(*open_input(input(bytes, allow_empty), codec_), codec_);
    }
    FakeCodec codec_;
};

TEST_F(TxtSource, MakesAnItemOfEveryLine) {
    EXPECT_THAT(items("one\ntwo\nthree\n"), ElementsAre("one", "two", "three"));
}

TEST_F(TxtSource, CountsALastLineWithoutLineEnd) {
    EXPECT_THAT(items("one\ntwo"), ElementsAre("one", "two"));
}

TEST_F(TxtSource, TakesCrLfAsALineEndAndKeepsOtherCarriageReturns) {
    EXPECT_THAT(items("one\r\ntw\ro\r\n\r\nend\r"), ElementsAre("one", "tw\ro", "", "end\r"));
}

TEST_F(TxtSource, TakesBlankLinesAsItems) {
    EXPECT_THAT(items("\n\na\n\n"), ElementsAre("", "", "a", ""));
}

TEST_F(TxtSource, SkipsAUtf8ByteOrderMark) {
    EXPECT_THAT(items("\xef\xbb\xbfone\n\xef\xbb\xbftwo\n"), ElementsAre("one", "\xef\xbb\xbftwo"));
}

TEST_F(TxtSource, PassesAnyOtherBytesOn) {
    EXPECT_THAT(items("\x80\xff\x01\t\n"), ElementsAre("\x80\xff\x01\t"));
}

TEST_F(TxtSource, RefusesAnEmptyFileUnlessThatIsAllowed) {
    EXPECT_EQ(failure_of(input(""), codec_), "65 E-INP-029 items.txt: no items (expected at least one)");
    EXPECT_EQ(failure_of(input("\xef\xbb\xbf"), codec_), "65 E-INP-029 items.txt: no items (expected at least one)");
    EXPECT_THAT(items("", true), IsEmpty());
    EXPECT_THAT(items("\xef\xbb\xbf", true), IsEmpty());
}

TEST_F(TxtSource, RefusesWhatIsNotUtf8Text) {
    EXPECT_EQ(failure_of(input(std::string("ab\nc\0d\n", 7)), codec_),
              "65 E-INP-035 items.txt: byte 4 is NUL: this is not a text file");
    EXPECT_EQ(failure_of(input(std::string("\xff\xfe"
                                           "a\0",
                                           4)),
                         codec_),
              "65 E-INP-031 items.txt: this is UTF-16 text (expected UTF-8)");
    EXPECT_EQ(failure_of(input("\xfe\xff"), codec_), "65 E-INP-031 items.txt: this is UTF-16 text (expected UTF-8)");
    for (const std::string_view mark : {std::string_view("\xff\xfe\0\0", 4), std::string_view("\0\0\xfe\xff", 4)}) {
        EXPECT_EQ(failure_of(input(std::string(mark)), codec_),
                  "65 E-INP-031 items.txt: this is UTF-32 text (expected UTF-8)");
    }
}

TEST_F(TxtSource, RecognisesPackedFilesAndPointers) {
    EXPECT_EQ(failure_of(input("\x1f\x8b\x08..."), codec_),
              "65 E-INP-031 items.txt: is compressed in gzip format, expected it unpacked");
    EXPECT_EQ(failure_of(input("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"), codec_),
              "65 E-INP-031 items.txt: this is a Git LFS pointer, not the data");
}

TEST_F(TxtSource, GivesTheSameBytesForAnyChunkSize) {
    std::mt19937 random(20251);
    std::string text;
    for (int line = 0; line < 1009; ++line) {
        text.append(random() % 5 == 0 ? 0 : random() % 90, static_cast<char>('a' + line % 26));
        text += line % 3 == 0 ? "\r\n" : "\n";
    }
    const auto source = open_input(input(text), codec_);

    const std::vector<std::byte> at_once = read_all(*source, codec_, 1009);

    for (const std::uint32_t step : {1U, 7U, 63U, 64U, 65U, 500U}) {
        EXPECT_EQ(read_all(*source, codec_, step), at_once) << step;
    }
}

TEST_F(TxtSource, CountsLinesOfAnyLengthAroundTheIndexBoundaries) {
    for (const std::size_t lines : {1U, 63U, 64U, 65U, 127U, 128U, 129U, 1000U}) {
        for (const std::size_t length : {0U, 1U, 7U, 8U, 63U, 64U, 65U, 100U}) {
            std::string text;
            for (std::size_t line = 0; line < lines; ++line) {
                text += std::string(length, static_cast<char>('a' + line % 26)) + "\n";
            }

            const std::vector<std::string> found = items(text);

            ASSERT_EQ(found.size(), lines) << length;
            for (std::size_t line = 0; line < lines; ++line) {
                ASSERT_EQ(found[line], std::string(length, static_cast<char>('a' + line % 26))) << line;
            }
        }
    }
}

TEST_F(TxtSource, ReadsLinesLongerThanItsWindow) {
    const std::string longer(reading_window * 3 + 17, 'x');

    const auto source = open_input(input("a\n" + longer + "\r\nb\n" + longer + "\nc"), codec_);

    ASSERT_EQ(source->count(), 5U);
    EXPECT_THAT(texts_of(*source, codec_), ElementsAre("a", std::string(252, 'x'), "b", std::string(252, 'x'), "c"));
    std::vector<std::byte> item(256);
    source->read(3, 1, item);
    std::uint32_t length = 0;
    std::memcpy(&length, item.data(), sizeof length);
    EXPECT_EQ(length, longer.size());
}

TEST_F(TxtSource, AcceptsTheLongestLineAndRefusesOneByteMore) {
    for (const char* end : {"\n", "\r\n", ""}) {
        const std::string longest(longest_record, 'x');

        EXPECT_EQ(open_input(input("a\n" + longest + end), codec_)->count(), 2U);
        EXPECT_EQ(failure_of(input("a\nb\n" + longest + "x" + end), codec_),
                  "65 E-INP-035 items.txt:3: item 2: longer than 16777216 bytes");
    }
}

TEST_F(TxtSource, FindsOutThatTheFileWasCutWhileInUse) {
    const JobConfig::Input in = input("one\ntwo\nthree\n");
    const auto source = open_input(in, codec_);

    std::filesystem::resize_file(in.paths.front(), 5);

    const Error error = error_of([&] { static_cast<void>(read_all(*source, codec_, 3)); });
    EXPECT_EQ(error.code(), ExitCode::bad_data);
    EXPECT_EQ(error.text().id, "E-INP-034");
    EXPECT_THAT(error.text().what, HasSubstr("truncated while running (got 5 bytes, expected 14"));
}

TEST_F(TxtSource, FindsOutThatTheFileGrewOrWasRewritten) {
    const JobConfig::Input in = input("one\ntwo\n");
    const auto grown = open_input(in, codec_);
    std::ofstream(in.paths.front(), std::ios::app) << "three\n";
    const auto rewritten = open_input(in, codec_);

    const auto later = std::filesystem::last_write_time(in.paths.front()) + std::chrono::seconds(2);
    std::filesystem::last_write_time(in.paths.front(), later);

    std::vector<std::byte> item(256);
    EXPECT_THAT(error_of([&] { grown->read(0, 1, item); }).text().what, HasSubstr("changed while running (got 14"));
    EXPECT_EQ(error_of([&] { rewritten->read(0, 1, item); }).text().id, "E-INP-034");
}

TEST_F(TxtSource, IsReadByManyThreadsAtOnce) {
    std::string text;
    for (int line = 0; line < 5000; ++line) {
        text += std::to_string(line * 7919) + "\n";
    }
    const auto source = open_input(input(text), codec_);
    const std::vector<std::byte> expected = read_all(*source, codec_, 5000);

    std::vector<std::vector<std::byte>> results(4);
    std::vector<std::thread> readers;
    for (std::uint32_t i = 0; i < results.size(); ++i) {
        readers.emplace_back([&, i] { results[i] = read_all(*source, codec_, 13 * i + 1); });
    }
    for (std::thread& reader : readers) {
        reader.join();
    }

    for (const auto& result : results) {
        EXPECT_EQ(result, expected);
    }
}

}  // namespace
}  // namespace sluice::test
