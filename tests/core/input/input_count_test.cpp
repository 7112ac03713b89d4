#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/input/io_fixture.hpp"
#include "tests/support/error_of.hpp"

namespace sluice::test {
namespace {

using testing::ElementsAre;

/// "item:text", padded with zeros.
class NumberingCodec final : public ItemCodec {
public:
    explicit NumberingCodec(bool needs_text = true) : needs_text_(needs_text) {}

    [[nodiscard]] IoShape shape() const noexcept override { return {32, 4}; }
    [[nodiscard]] bool needs_text() const noexcept override { return needs_text_; }
    [[nodiscard]] ItemProblem check_text(std::string_view text) const override {
        return {.what = text == "bad" ? "this is bad" : "", .hint = text == "bad" ? "set app.bad" : ""};
    }
    void encode(std::uint64_t item, std::string_view text, std::span<std::byte> to) const override {
        std::string both = std::to_string(item) + ":" + std::string(text);
        both.resize(to.size());
        std::memcpy(to.data(), both.data(), to.size());
    }
    [[nodiscard]] std::optional<std::size_t> longest_text() const noexcept override { return 4; }
    [[nodiscard]] std::vector<OutputField> output_fields() const override { return {}; }

private:
    bool needs_text_;
};

std::vector<std::string> items_of(const ItemSource& source, std::uint64_t first, std::uint32_t count) {
    std::vector<std::byte> bytes(count * std::size_t{32});
    source.read(first, count, bytes);
    std::vector<std::string> items;
    for (std::uint32_t i = 0; i < count; ++i) {
        items.emplace_back(reinterpret_cast<const char*>(bytes.data()) + i * std::size_t{32});
    }
    return items;
}

class InputCount : public IoTest {
protected:
    [[nodiscard]] JobConfig::Input texts(std::string_view lines, std::uint64_t count) const {
        JobConfig::Input input = no_file(count);
        input.paths = {write("items.txt", lines)};
        return input;
    }
    [[nodiscard]] static JobConfig::Input no_file(std::uint64_t count) {
        JobConfig::Input input;
        input.count = count;
        return input;
    }
    NumberingCodec codec_;
    NumberingCodec numbers_{false};
};

TEST_F(InputCount, IsOfItemsWithBytes) {
    EXPECT_THROW((void)open_input(texts("a\n", 3), FakeCodec(0)), ContractViolation);
}

TEST_F(InputCount, MakesSoManyItemsOfEachRecordInARow) {
    const auto source = open_input(texts("a\nb\n", 3), codec_);

    ASSERT_EQ(source->count(), 6U);
    EXPECT_THAT(items_of(*source, 0, 6), ElementsAre("0:a", "1:a", "2:a", "3:b", "4:b", "5:b"));
    EXPECT_THAT(items_of(*source, 2, 2), ElementsAre("2:a", "3:b"));
    EXPECT_THAT(items_of(*source, 4, 1), ElementsAre("4:b"));
}

TEST_F(InputCount, GivesTheSameItemsForAnyChunkSize) {
    std::string lines;
    for (int i = 0; i < 200; ++i) {
        lines += std::to_string(i * i) + "\n";
    }
    const auto source = open_input(texts(lines, 7), codec_);

    const std::vector<std::byte> at_once = read_all(*source, codec_, 1400);

    EXPECT_THAT(items_of(*source, 1398, 2), ElementsAre("1398:39601", "1399:39601"));
    for (const std::uint32_t step : {1U, 5U, 64U, 450U}) {
        EXPECT_EQ(read_all(*source, codec_, step), at_once) << step;
    }
}

TEST_F(InputCount, CountsEachItemOfATextThatIsCut) {
    const auto source = open_input(texts("four\nfives\n\nsix, seven", 3), codec_);
    std::vector<std::byte> bytes(std::size_t{12} * 32);
    const auto cut_in = [&](std::uint64_t first, std::uint32_t count) {
        return source->read(first, count, std::span(bytes).first(count * std::size_t{32}));
    };

    EXPECT_EQ(cut_in(0, 12), 6U);
    EXPECT_EQ(cut_in(0, 3), 0U);
    EXPECT_EQ(cut_in(2, 2), 1U) << "in the middle of both records";
    EXPECT_EQ(cut_in(4, 6), 3U);
    EXPECT_EQ(cut_in(6, 3), 0U) << "an empty text";
    EXPECT_EQ(cut_in(12, 0), 0U);
}

TEST_F(InputCount, NamesTheFirstItemOfABadRecord) {
    JobConfig::Input input = texts("{\"a\":1}\n{}\n", 10);
    input.format = InputFormat::jsonl;
    input.columns = {std::string("a")};
    const auto source = open_input(input, codec_);

    EXPECT_EQ(summary_of(error_of([&] { items_of(*source, 15, 1); })),
              "65 E-INP-032 items.txt:2: item 10: column 'a' is missing");
}

TEST_F(InputCount, MakesItemsOfTheirNumbersAloneWithoutAFile) {
    constexpr std::uint64_t many = std::uint64_t{1} << 40;
    const auto source = open_input(no_file(many), numbers_);

    EXPECT_EQ(source->count(), many);
    EXPECT_EQ(source->bytes(), 0U);
    EXPECT_THAT(items_of(*source, many - 2, 2), ElementsAre("1099511627774:", "1099511627775:"));
    EXPECT_NO_THROW(source->check_content());
}

TEST_F(InputCount, NeedsAFileForAnAppThatNeedsTexts) {
    const Error error = error_of([&] { return open_input(no_file(5), codec_); });

    EXPECT_EQ(error.code(), ExitCode::configuration);
    EXPECT_EQ(error.text().id, "E-CFG-013");
    EXPECT_EQ(error.text().where, "input.path");
}

TEST_F(InputCount, MayBeZeroWhereNoItemsAreAllowed) {
    JobConfig::Input input = texts("a\nb\n", 0);
    input.allow_empty = true;

    EXPECT_EQ(open_input(input, codec_)->count(), 0U);
    EXPECT_EQ(open_input(no_file(0), numbers_)->count(), 0U);
}

TEST_F(InputCount, HoldsUpToAVeryLargeProduct) {
    std::string lines(257, '\n');
    constexpr std::uint64_t most = std::uint64_t{1} << 40;

    EXPECT_EQ(open_input(texts(lines.substr(1), most), codec_)->count(), most * 256);
    EXPECT_EQ(error_of([&] { static_cast<void>(open_input(texts(lines, most), codec_)); }).text().what,
              "got 1099511627776 items of each of at least 257 records, expected at most 281474976710656 in all");
}

TEST_F(InputCount, SaysOfATooLargeProductNoMoreThanItHasCounted) {
    constexpr std::uint64_t most = std::uint64_t{1} << 40;

    const std::string what =
        error_of([&] { static_cast<void>(open_input(texts(std::string(3000, '\n'), most), codec_)); }).text().what;

    // The index gives up before it has met all 3,000 records.
    EXPECT_THAT(what, testing::HasSubstr("of each of at least "));
}

TEST_F(InputCount, SendsNoTextThatTheAppRefuses) {
    const auto source = open_input(texts("a\nb\nbad\n", 2), codec_);
    std::vector<std::byte> bytes(std::size_t{6} * 32);

    EXPECT_NO_THROW(source->read(0, 4, std::span(bytes).first(std::size_t{4} * 32)));
    const Error error = error_of([&] { source->read(0, 6, bytes); });

    EXPECT_EQ(error.code(), ExitCode::bad_data);
    EXPECT_EQ(error.text().id, "E-INP-032");
    EXPECT_THAT(error.text().where, testing::EndsWith("items.txt:3"));
    EXPECT_EQ(error.text().what, "item 4: this is bad");
    EXPECT_EQ(error.text().hint, "set app.bad") << "what the app says";
}

}  // namespace
}  // namespace sluice::test
