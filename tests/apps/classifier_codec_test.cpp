#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <set>
#include <string>

#include "apps/classifier/alphabet.hpp"
#include "apps/classifier/classifier_app.hpp"
#include "apps/classifier/classifier_codec.hpp"
#include "apps/classifier/one_hot.hpp"
#include "core/error.hpp"
#include "core/output/row_encoder.hpp"
#include "kernels/dense.hpp"
#include "tests/support/error_of.hpp"

namespace sluice::classifier {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t length = 1014;
constexpr std::uint8_t blank = 70;

class ClassifierCodecTest : public testing::Test {
protected:
    std::vector<std::uint8_t> encode(std::string_view text) const {
        std::vector<std::uint8_t> item(length, 0xee);
        codec_->encode(0, text, std::as_writable_bytes(std::span(item)));
        return item;
    }
    std::vector<std::uint8_t> front(std::string_view text, std::size_t count) const {
        auto item = encode(text);
        EXPECT_TRUE(std::all_of(item.begin() + static_cast<std::ptrdiff_t>(count), item.end(),
                                [](std::uint8_t symbol) { return symbol == blank; }));
        item.resize(count);
        return item;
    }
    /// The same item as fp32 one-hot, symbol-major.
    static std::vector<float> dense(const std::vector<std::uint8_t>& item) {
        std::vector<float> one_hot(70 * length);
        for (std::size_t c = 0; c < length; ++c) {
            if (item[c] < 70) {
                one_hot[item[c] * length + c] = 1.0F;
            }
        }
        return one_hot;
    }
    std::string pack(const std::vector<float>& one_hot, std::vector<std::uint8_t>& item) const {
        item.assign(length, 0xee);
        return codec_->pack_dense(one_hot, std::as_writable_bytes(std::span(item))).what;
    }
    std::string check(const std::vector<std::uint8_t>& item) const {
        return codec_->check_packed(std::as_bytes(std::span(item))).what;
    }

    std::unique_ptr<ItemCodec> codec_ = open_classifier(false)->make_codec();
};

using Symbols = std::vector<std::uint8_t>;

TEST_F(ClassifierCodecTest, HasSeventySymbolsOfWhichOnlyTheHyphenStandsTwice) {
    EXPECT_EQ(classifier_alphabet.size(), 70U);
    EXPECT_EQ(std::set<char>(classifier_alphabet.begin(), classifier_alphabet.end()).size(), 69U);
    EXPECT_EQ(std::count(classifier_alphabet.begin(), classifier_alphabet.end(), '-'), 2);
}

TEST_F(ClassifierCodecTest, ReadsTextBackwardsSoThatTheLastCharacterComesFirst) {
    EXPECT_EQ(front("abc", 3), (Symbols{2, 1, 0}));
    EXPECT_EQ(front("z9\n", 3), (Symbols{69, 35, 25}));
}

TEST_F(ClassifierCodecTest, LowersAsciiLettersOnly) {
    EXPECT_EQ(encode("Hello, WORLD{}"), encode("hello, world{}"));
    EXPECT_EQ(front("[", 1), (Symbols{65}));  // next to 'Z' and '`' next to 'a': neither is a letter
    EXPECT_EQ(front("`", 1), (Symbols{57}));
}

TEST_F(ClassifierCodecTest, UsesTheLaterOfTheTwoHyphens) {
    EXPECT_EQ(front("-", 1), (Symbols{59}));
}

TEST_F(ClassifierCodecTest, MakesSpacesAndUnknownBytesBlank) {
    EXPECT_EQ(front("a b", 3), (Symbols{1, blank, 0}));
    EXPECT_EQ(front(std::string_view("a\0\t\x7f\r", 5), 5), (Symbols{blank, blank, blank, blank, 0}));
}

TEST_F(ClassifierCodecTest, MakesEachByteOfAMultiByteCharacterABlank) {
    EXPECT_EQ(front("a\xc3\xa9z", 4), (Symbols{25, blank, blank, 0}));
    EXPECT_EQ(front("\xff\xfe", 2), (Symbols{blank, blank}));  // not UTF-8 at all
}

TEST_F(ClassifierCodecTest, CutsTextAt1014CharactersBeforeReadingItBackwards) {
    const std::string text = "a" + std::string(1012, 'b') + "c" + std::string(4000, 'd');

    const auto item = encode(text);

    EXPECT_EQ(item.front(), 2);
    EXPECT_EQ(item.back(), 0);
    EXPECT_EQ(std::count(item.begin(), item.end(), 1), 1012);
    EXPECT_EQ(item, encode(text.substr(0, 1014)));
    EXPECT_EQ(codec_->longest_text(), 1014U) << "reports count those that are longer";
}

TEST_F(ClassifierCodecTest, MakesEmptyTextAllBlank) {
    EXPECT_THAT(front("", 0), IsEmpty());
}

TEST_F(ClassifierCodecTest, WritesNothingThatItsOwnCheckRefuses) {
    std::string every_byte;
    for (int byte = 0; byte < 256; ++byte) {
        every_byte.push_back(static_cast<char>(byte));
    }

    EXPECT_THAT(check(encode(every_byte)), IsEmpty());
}

TEST_F(ClassifierCodecTest, NamesTheFirstForeignByteOnTheWire) {
    Symbols item(length, blank);
    EXPECT_THAT(check(item), IsEmpty());
    item[17] = 71;
    item[18] = 255;

    EXPECT_EQ(check(item), "byte 17: got 71, expected 0 to 70");
    item[18] = blank;
    EXPECT_EQ(check(item), "byte 17: got 71, expected 0 to 70");
}

TEST_F(ClassifierCodecTest, PacksOneHotColumnsToWhatTheyWereMadeFrom) {
    for (const char* text : {"", "a", "The quick brown fox, 42!\n--"}) {
        Symbols item;

        const std::string problem = pack(dense(encode(text)), item);

        EXPECT_THAT(problem, IsEmpty());
        EXPECT_EQ(item, encode(text));
    }
}

TEST_F(ClassifierCodecTest, PacksEverySymbolInEveryColumn) {
    for (std::uint8_t symbol = 0; symbol <= blank; ++symbol) {
        const Symbols item(length, symbol);
        Symbols packed;

        EXPECT_THAT(pack(dense(item), packed), IsEmpty());
        EXPECT_EQ(packed, item);
    }
}

TEST_F(ClassifierCodecTest, RefusesColumnsThatAreNeitherOneHotNorBlank) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float tiny = std::numeric_limits<float>::denorm_min();
    for (const std::size_t column : {std::size_t{0}, std::size_t{15}, std::size_t{16}, length - 1}) {
        for (const float value : {0.5F, 2.0F, -1.0F, nan, tiny, std::numeric_limits<float>::infinity()}) {
            std::vector<float> one_hot = dense(encode(""));
            one_hot[33 * length + column] = value;
            Symbols item;

            EXPECT_THAT(pack(one_hot, item), HasSubstr("column " + std::to_string(column) + ": row 33 is"));
        }
        std::vector<float> one_hot = dense(encode(""));
        one_hot[3 * length + column] = one_hot[69 * length + column] = 1.0F;
        Symbols item;
        EXPECT_EQ(pack(one_hot, item),
                  "column " + std::to_string(column) + ": rows 3 and 69 are both 1, expected at most one");
    }
}

TEST_F(ClassifierCodecTest, RefusesAColumnOfOnesAndTakesNegativeZeroForZero) {
    std::vector<float> one_hot(70 * length, 1.0F);
    Symbols item;
    EXPECT_THAT(pack(one_hot, item), HasSubstr("column 0: rows 0 and 1"));

    one_hot.assign(70 * length, -0.0F);
    EXPECT_THAT(pack(one_hot, item), IsEmpty());
    EXPECT_EQ(item, Symbols(length, blank));
}

TEST_F(ClassifierCodecTest, RefusesRoomOfAnotherSize) {
    std::vector<std::byte> item(length + 1);

    EXPECT_THROW(codec_->encode(0, "a", item), ContractViolation);
    EXPECT_THROW((void)codec_->check_packed(item), ContractViolation);
    EXPECT_THROW((void)codec_->pack_dense(std::vector<float>(70 * length), item), ContractViolation);
}

TEST_F(ClassifierCodecTest, DescribesItsItems) {
    const auto with_scores = open_classifier(true)->make_codec();

    EXPECT_EQ(codec_->shape(), (IoShape{1014, 4}));
    EXPECT_EQ(with_scores->shape(), (IoShape{1014, 20}));
    EXPECT_EQ(codec_->dense_shape(), (std::vector<std::uint64_t>{70, 1014}));
    ASSERT_EQ(with_scores->output_fields().size(), 2U);
    EXPECT_EQ(with_scores->output_fields()[1].name, "score");
    EXPECT_EQ(with_scores->output_fields()[1].count, 4U);
    EXPECT_EQ(codec_->output_fields().size(), 1U);
}

std::string rows_of(const ItemCodec& codec, std::span<const std::byte> records) {
    RowEncoder rows(OutputFormat::csv, codec);
    const auto count = static_cast<std::uint32_t>(records.size() / codec.shape().output_bytes);
    const auto bytes = rows.encode(0, count, records).bytes;
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_F(ClassifierCodecTest, HidesTheMarkOfALabelAndCountsIt) {
    const std::array<std::int32_t, 4> labels{2, 3 | nonfinite_mark, nonfinite_mark, missing_int32};
    const auto records = std::as_bytes(std::span(labels));

    EXPECT_EQ(rows_of(*codec_, records), "0,2\n1,3\n2,0\n3,\n");
    EXPECT_EQ(codec_->nonfinite(records), 2U);
    EXPECT_EQ(codec_->nonfinite(records.first(4)), 0U);
}

TEST_F(ClassifierCodecTest, CountsScoresWhereTheyAreWritten) {
    struct Record {
        std::int32_t label;
        std::array<float, 4> scores;
    };
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::array<Record, 2> results{{{1 | nonfinite_mark, {nan, 0.5F, nan, 1}}, {3, {1, 2, 3, 4}}}};
    const auto records = std::as_bytes(std::span(results));
    const auto codec = open_classifier(true)->make_codec();

    EXPECT_EQ(rows_of(*codec, records), "0,1,nan,0.5,nan,1\n1,3,1,2,3,4\n");
    EXPECT_EQ(codec->nonfinite(records), 2U);
}

TEST_F(ClassifierCodecTest, WritesALabelsNameBehindIt) {
    struct Record {
        std::int32_t label;
        std::array<float, 4> scores;
    };
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<std::string> names{"World", "Sports", "Business, money", "Sci/Tech"};
    const std::array<std::int32_t, 4> labels{3, 2, 1 | nonfinite_mark, missing_int32};
    std::array<Record, 2> results{{{0, {1, 2, 3, nan}}, {}}};
    const ClassifierCodec codec(false, names);
    const ClassifierCodec with_scores(true, names);

    with_scores.write_missing(std::as_writable_bytes(std::span(results).last(1)));

    EXPECT_EQ(rows_of(codec, std::as_bytes(std::span(labels))),
              "0,3,Sci/Tech\n1,2,\"Business, money\"\n2,1,Sports\n3,,\n");
    EXPECT_EQ(codec.nonfinite(std::as_bytes(std::span(labels))), 1U);
    EXPECT_EQ(rows_of(with_scores, std::as_bytes(std::span(results))), "0,0,World,1,2,3,nan\n1,,,nan,nan,nan,nan\n");
    EXPECT_EQ(with_scores.nonfinite(std::as_bytes(std::span(results)).first(sizeof(Record))), 1U);
    EXPECT_EQ(codec.shape(), codec_->shape());
}

TEST_F(ClassifierCodecTest, HasNoNamesOfRandomWeights) {
    const auto app = open_classifier(ClassifierOutput{.names = true});

    const Error error = test::error_of([&] { return app->make_codec(); });

    EXPECT_EQ(error.text().id, "E-CFG-110");
}

TEST(OneHot, PacksAnyNumberOfColumns) {
    for (const std::size_t columns : {1U, 31U, 1023U, 1024U, 1025U, 2049U}) {
        std::vector<float> one_hot(3 * columns);
        std::vector<std::uint8_t> expected(columns);
        for (std::size_t c = 0; c < columns; ++c) {
            expected[c] = static_cast<std::uint8_t>(c % 4);
            if (expected[c] < 3) {
                one_hot[expected[c] * columns + c] = 1;
            }
        }
        std::vector<std::uint8_t> ids(columns);

        EXPECT_THAT(pack_one_hot(one_hot, 3, ids), IsEmpty());
        EXPECT_EQ(ids, expected);
    }
}

TEST(OneHot, RefusesAnyNumberOfOnesButOneInAColumn) {
    for (const std::uint32_t symbols : {70U, 255U}) {
        for (const std::size_t columns : {1U, 100U}) {
            for (std::uint32_t ones = 2; ones <= symbols; ++ones) {
                std::vector<float> one_hot(symbols * columns);
                for (std::uint32_t s = 0; s < ones; ++s) {
                    one_hot[s * columns + columns - 1] = 1.0F;
                }
                std::vector<std::uint8_t> ids(columns);

                EXPECT_EQ(pack_one_hot(one_hot, symbols, ids),
                          "column " + std::to_string(columns - 1) + ": rows 0 and 1 are both 1, expected at most one");
            }
        }
    }
}

/// What pack_one_hot should say and write, column by column.
std::string pack_plainly(const std::vector<float>& one_hot, std::uint32_t symbols, std::vector<std::uint8_t>& ids) {
    const std::size_t columns = ids.size();
    for (std::size_t c = 0; c < columns; ++c) {
        std::vector<std::uint32_t> ones;
        for (std::uint32_t s = 0; s < symbols; ++s) {
            const float value = one_hot[s * columns + c];
            if (value == 1.0F) {
                ones.push_back(s);
            }
            if ((value != 0.0F && value != 1.0F) || ones.size() > 1) {
                return "column " + std::to_string(c) + ": row";
            }
        }
        ids[c] = static_cast<std::uint8_t>(ones.empty() ? symbols : ones.front());
    }
    return {};
}

TEST(OneHot, PacksOrRefusesRandomColumnsOfAnyShapeAsAPlainLoopDoes) {
    const std::uint32_t seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 engine(seed);
    const std::array<float, 6> foreign{1.0F, -1.0F, 0.5F, 0x1p-126F, 1.0000001F, std::numeric_limits<float>::max()};
    std::size_t refused = 0;
    for (const std::uint32_t symbols : {1U, 2U, 6U, 7U, 8U, 13U, 14U, 70U, 255U}) {
        for (const std::size_t columns : {1U, 15U, 16U, 17U, 1014U, 1024U, 1025U, 2500U}) {
            std::vector<float> one_hot(symbols * columns);
            for (std::size_t c = 0; c < columns; ++c) {
                if (const auto symbol = engine() % (symbols + 1); symbol < symbols) {
                    one_hot[symbol * columns + c] = 1.0F;
                }
                float& value = one_hot[engine() % symbols * columns + c];
                value = value == 0.0F ? -0.0F : value;
            }
            for (const bool spoil : {false, true}) {
                for (int i = 0; spoil && i < 2; ++i) {
                    one_hot[engine() % one_hot.size()] = foreign[engine() % foreign.size()];
                }
                std::vector<std::uint8_t> expected(columns, 0xee);
                std::vector<std::uint8_t> ids(columns, 0xee);

                const std::string problem = pack_plainly(one_hot, symbols, expected);
                const std::string told = pack_one_hot(one_hot, symbols, ids);

                ASSERT_EQ(told.substr(0, problem.size()), problem) << symbols << " symbols, " << columns << " columns";
                ASSERT_EQ(told.empty(), problem.empty());
                refused += problem.empty() ? 0 : 1;
                if (problem.empty()) {
                    ASSERT_EQ(ids, expected) << symbols << " symbols, " << columns << " columns";
                }
            }
        }
    }
    EXPECT_GT(refused, 40U);
}

}  // namespace
}  // namespace sluice::classifier
