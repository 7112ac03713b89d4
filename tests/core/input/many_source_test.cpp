// Several files against the one that they make together.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/input/record_index.hpp"
#include "tests/core/input/io_fixture.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Items are their number and the text or row that they were given; "bad" is none.
class NumberCodec final : public ItemCodec {
public:
    [[nodiscard]] IoShape shape() const noexcept override { return {128, 4}; }
    [[nodiscard]] ItemProblem check_text(std::string_view text) const override {
        return {.what = text == "bad" ? "is bad" : ""};
    }
    void encode(std::uint64_t item, std::string_view text, std::span<std::byte> to) const override {
        const std::string kept = fmt::format("{}: {}: {}", item, text.size(), text).substr(0, to.size());
        std::ranges::fill(to, std::byte{0});
        std::memcpy(to.data(), kept.data(), kept.size());
    }
    [[nodiscard]] std::optional<std::size_t> longest_text() const noexcept override { return 6; }
    [[nodiscard]] std::uint32_t row_integers() const noexcept override { return 3; }
    [[nodiscard]] ItemProblem pack_integers(std::uint64_t item, std::span<const std::int64_t> row,
                                            std::span<std::byte> to) const override {
        encode(item, fmt::format("{}", fmt::join(row, " ")), to);
        return {.what = row.front() == 66 ? "column 0 is 66" : ""};
    }
    [[nodiscard]] std::vector<OutputField> output_fields() const override { return {{"label", FieldType::int32, 1}}; }
};

std::string npy_file(std::string_view descr, const std::string& shape, std::string_view data) {
    const std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}\n", descr, shape);
    std::string file("\x93NUMPY\1\0", 8);
    file += {static_cast<char>(header.size()), '\0'};
    return file + header + std::string(data);
}

/// Of a random text, or of some with commas, quotes and line ends.
std::string random_text(std::mt19937& random) {
    static const std::vector<std::string> pieces{"a", "é", " ", ",", "\"\"", "\n", "\r\n", "bc", "word"};
    std::string field;
    for (auto i = random() % 9; i > 0; --i) {
        field += pieces[random() % pieces.size()];
    }
    return field;
}

class ManySource : public IoTest {
protected:
    struct Form {
        InputFormat format;
        std::vector<ColumnRef> columns = {};
        bool header = false;
    };

    /// A file's content from records as they stand in files; `is_last`: of all files.
    [[nodiscard]] static std::string text_of(const Form& form, const std::vector<std::string>& records,
                                             std::mt19937& random, bool is_last) {
        std::string text = random() % 4 == 0 ? "\xef\xbb\xbf" : "";
        const bool swapped = form.header && random() % 2 == 0;
        if (form.header) {
            text += swapped ? "more,second,first\n" : "first,second\n";
        }
        for (std::size_t i = 0; i < records.size(); ++i) {
            std::string record = records[i];
            if (swapped) {  // fields have no NUL, which marks the comma between the two
                const std::size_t comma = record.find('\0');
                record = "x," + record.substr(comma + 1) + "," + record.substr(0, comma);
            }
            std::ranges::replace(record, '\0', ',');
            text += record;
            text += i + 1 == records.size() && !is_last && random() % 2 == 0 ? "" : random() % 2 == 0 ? "\n" : "\r\n";
        }
        return text;
    }

    [[nodiscard]] static std::vector<std::string> random_records(const Form& form, std::size_t count,
                                                                 std::mt19937& random) {
        std::vector<std::string> records;
        for (std::size_t i = 0; i < count; ++i) {
            if (form.format == InputFormat::csv) {
                records.push_back(fmt::format("\"{}\"{}\"{}\"", random_text(random), '\0', random_text(random)));
            } else if (form.format == InputFormat::jsonl) {
                records.push_back(fmt::format(R"({{"n": {}, "first": "t{}"}})", i, std::string(random() % 50, 'x')));
            } else {
                records.push_back(std::string(random() % 60, 'y') + std::to_string(i));
            }
        }
        return records;
    }

    [[nodiscard]] JobConfig::Input input(const Form& form, std::vector<std::filesystem::path> paths,
                                         std::optional<std::uint64_t> count = {}) const {
        return {.paths = std::move(paths),
                .format = form.format,
                .columns = form.columns,
                .header = form.header,
                .allow_empty = true,
                .count = count};
    }

    void expect_same(const ItemSource& many, const ItemSource& one, std::mt19937& random) const {
        ASSERT_EQ(many.count(), one.count());
        const std::vector<std::byte> expected = read_all(one, codec_, 1000);
        for (const std::uint32_t step : {1U, 7U, 64U, 100'000U}) {
            ASSERT_EQ(read_all(many, codec_, step), expected) << "step " << step;
        }
        const std::size_t item_bytes = codec_.shape().input_bytes;
        for (int i = 0; i < 20 && one.count() > 0; ++i) {
            const std::uint64_t first = random() % (one.count() + 1);
            const auto count = static_cast<std::uint32_t>(random() % (one.count() - first + 1));
            std::vector<std::byte> items(count * item_bytes);
            const std::uint32_t cut = many.read(first, count, items);
            ASSERT_TRUE(std::ranges::equal(items, std::span(expected).subspan(first * item_bytes, items.size())));
            ASSERT_EQ(cut, one.read(first, count, items));
        }
    }

    NumberCodec codec_;
};

TEST_F(ManySource, GivesTheItemsOfTheJoinedText) {
    const std::vector<Form> forms{{InputFormat::txt},
                                  {InputFormat::jsonl, {std::string("first")}},
                                  {InputFormat::csv},
                                  {InputFormat::csv, {2U, 1U}},
                                  {InputFormat::csv, {std::string("second"), std::string("first")}, true}};
    for (unsigned seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const Form& form = forms[seed % forms.size()];
        const std::size_t files = 2 + random() % 40;
        std::vector<std::string> all;
        std::vector<std::filesystem::path> paths;
        for (std::size_t i = 0; i < files; ++i) {
            const std::vector<std::string> records =
                random_records(form, random() % 3 == 0 ? 0 : random() % 90, random);
            all.insert(all.end(), records.begin(), records.end());
            const bool is_void = records.empty() && random() % 2 == 0;  // not even a header
            const std::string text = is_void ? "" : text_of(form, records, random, i + 1 == files);
            paths.push_back(write(fmt::format("{}-{:02}", seed, i), text));
        }
        std::string joined = form.header ? "first,second\n" : "";
        for (const std::string& record : all) {
            joined += record + "\n";
        }
        std::ranges::replace(joined, '\0', ',');
        const auto one_path = write(fmt::format("{}-joined", seed), joined);
        const std::optional<std::uint64_t> count = seed % 2 == 0 ? std::nullopt : std::optional<std::uint64_t>(3);

        const auto many = open_input(input(form, paths, count), codec_);
        const auto one = open_input(input(form, {one_path}, count), codec_);

        expect_same(*many, *one, random);
        ASSERT_EQ(many->files().size(), files);
    }
}

TEST_F(ManySource, GivesTheItemsOfTheJoinedArray) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const bool is_npy = seed % 2 == 0;
        std::vector<std::int32_t> all;
        std::vector<std::filesystem::path> paths;
        for (std::size_t i = 0; i < 2 + random() % 20; ++i) {
            std::vector<std::int32_t> rows(3 * (random() % 3 == 0 ? 0 : random() % 50));
            std::ranges::generate(rows, [&] { return static_cast<std::int32_t>(random() % 60); });
            all.insert(all.end(), rows.begin(), rows.end());
            const std::string data(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(std::int32_t));
            paths.push_back(write(fmt::format("{}-{:02}", seed, i),
                                  is_npy ? npy_file("<i4", fmt::format("({}, 3)", rows.size() / 3), data) : data));
        }
        const std::string data(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(std::int32_t));
        const auto joined =
            write("joined", is_npy ? npy_file("<i4", fmt::format("({}, 3)", all.size() / 3), data) : data);
        const Form form{is_npy ? InputFormat::npy : InputFormat::onehot_f32};

        const auto many = open_input(input(form, paths), codec_);

        expect_same(*many, *open_input(input(form, {joined}), codec_), random);
    }
}

TEST_F(ManySource, SaysWhichItemsEachFileHas) {
    const auto paths = {write("a.txt", "1\n2\n"), write("b.txt", ""), write("c.txt", "3")};

    const auto source = open_input(input({InputFormat::txt}, paths, 5), codec_);

    const std::vector<SourceFile> files = source->files();
    ASSERT_EQ(files.size(), 3U);
    EXPECT_EQ(files[0].path, folder() / "a.txt");
    EXPECT_EQ(files[0].items, 10U);
    EXPECT_EQ(files[1].first_item, 10U);
    EXPECT_EQ(files[1].items, 0U);
    EXPECT_EQ(files[2].first_item, 10U);
    EXPECT_EQ(files[2].items, 5U);
    EXPECT_EQ(files[2].bytes, 1U);
    EXPECT_EQ(source->reads().file, 5U);
    EXPECT_EQ(source->bytes(), 5U);
}

TEST_F(ManySource, NamesAnItemByItsFileAndItsNumberAmongAll) {
    const auto failure = [&](const Form& form, std::vector<std::filesystem::path> paths,
                             std::optional<std::uint64_t> count = {}) {
        return failure_of(input(form, std::move(paths), count), codec_);
    };
    const auto good = write("good", "1\n2\n3\n");
    const auto quotes = write("quotes", "x\na\"\n");

    EXPECT_EQ(failure({InputFormat::txt}, {good, write("texts", "4\nbad\n")}), "65 E-INP-032 texts:2: item 4: is bad");
    EXPECT_EQ(failure({InputFormat::txt}, {good, write("texts", "4\nbad\n")}, 3),
              "65 E-INP-032 texts:2: item 12: is bad");
    EXPECT_THAT(failure({InputFormat::csv}, {good, quotes}), HasSubstr("quotes:2: item 4: "));
    EXPECT_THAT(failure({InputFormat::csv}, {good, write("first", "\"")}, 3), HasSubstr("first:1: item 9: "));
    EXPECT_THAT(failure({InputFormat::csv, {std::string("1")}, true}, {good, write("header", "2\n1\n")}),
                HasSubstr("header:1: header: there is no column '1'"));
    EXPECT_THAT(
        failure({InputFormat::onehot_f32}, {write("rows", std::string(24, '\1')),
                                            write("more", std::string(12, '\2') + "\x42" + std::string(11, '\0'))}),
        HasSubstr("more: item 3 (at byte 12): column 0 is 66"));
}

TEST_F(ManySource, ReportsTheFirstMistakeOfAllFiles) {
    std::vector<std::filesystem::path> paths;
    for (int i = 0; i < 200; ++i) {
        paths.push_back(write(fmt::format("{:03}", i), i >= 90 ? "1\na\"\n" : "1\n"));
    }

    EXPECT_THAT(failure_of(input({InputFormat::csv}, paths), codec_), HasSubstr("090:2: item 91: "));
}

TEST_F(ManySource, IndexesLargeFilesAmongSmallOnes) {
    std::string large;
    for (int i = 0; i < 700'000; ++i) {
        large += fmt::format("{}\n", i);
    }
    const std::uint64_t bytes = std::uint64_t{2} << 20;
    ASSERT_GT(large.size(), 2 * bytes);
    const auto big = write("big", large);
    const auto small = write("small", "a\nb\n");
    const auto bad = write("bad", "\"");

    const auto source = open_input(input({InputFormat::csv}, {small, big, write("end", "c\n")}), codec_);

    EXPECT_EQ(source->count(), 700'003U);
    EXPECT_EQ(source->files()[2].first_item, 700'002U);
    EXPECT_THAT(failure_of(input({InputFormat::csv}, {bad, write("big", large + "\"")}), codec_), HasSubstr("bad:1:"));
    EXPECT_THAT(failure_of(input({InputFormat::csv}, {small, write("big", large + "\""), bad}), codec_),
                HasSubstr("big:700001: item 700002: "));
}

TEST_F(ManySource, IsEmptyOnlyWhenAllFilesAre) {
    JobConfig::Input in = input({InputFormat::txt}, {write("a", ""), write("b", "")});
    EXPECT_EQ(open_input(in, codec_)->count(), 0U);

    in.allow_empty = false;
    EXPECT_EQ(failure_of(in, codec_), "65 E-INP-029 input.path (2 files): no items (expected at least one)");

    in.paths.push_back(write("c", "1"));
    EXPECT_EQ(failure_of(in, codec_), "none");
}

TEST_F(ManySource, RefusesFilesOfOtherForms) {
    const auto failure = [&](const Form& form, std::vector<std::filesystem::path> paths) {
        return failure_of(input(form, std::move(paths)), codec_);
    };
    const auto two = write("two", "a,b\n");
    const auto three = write("three", "a,b,c\n");

    EXPECT_THAT(failure({InputFormat::csv}, {two, three}), HasSubstr("E-INP-182 three: has 3 columns, but"));
    EXPECT_EQ(failure({InputFormat::csv, {2U}}, {two, three}), "none");
    EXPECT_THAT(failure({InputFormat::csv, {3U}}, {three, two}), HasSubstr("E-INP-032 two:1: "));
    EXPECT_THAT(failure({InputFormat::csv, {}, true}, {two, write("other", "b,a\n")}),
                HasSubstr("other: has 2 columns: 'b', 'a', but"));
    EXPECT_EQ(failure({InputFormat::csv, {}, true}, {two, write("void", ""), write("same", "a,b\n1,2\n")}), "none");
    EXPECT_THAT(failure({InputFormat::npy}, {write("rows", npy_file("|i1", "(1, 2)", "ab")),
                                             write("more", npy_file("|i1", "(1, 3)", "abc"))}),
                HasSubstr("E-INP-182 more: has shape [N,3], but"));
    EXPECT_EQ(failure({InputFormat::npy}, {write("rows", npy_file("|i1", "(1, 2)", "ab")),
                                           write("more", npy_file("<i2", "(1, 2)", "abcd"))}),
              "none");
}

TEST_F(ManySource, NoticesAChangeOfAnyFileAndNamesIt) {
    const auto paths = {write("a", "1\n2\n"), write("b", "3\n4\n"), write("c", "5\n")};
    const auto source = open_input(input({InputFormat::txt}, paths), codec_);
    EXPECT_NO_THROW(source->check_content());

    write("b", "3\n5\n");
    std::filesystem::last_write_time(folder() / "b", std::filesystem::file_time_type::clock::now());

    const Error checked = error_of([&] { source->check_content(); });
    EXPECT_EQ(checked.text().id, "E-INP-034");
    EXPECT_EQ(checked.text().where, (folder() / "b").native());
    const Error read = error_of([&] { static_cast<void>(read_all(*source, codec_, 5)); });
    EXPECT_EQ(read.text().where, (folder() / "b").native());
    std::vector<std::byte> items(codec_.shape().input_bytes);
    EXPECT_NO_THROW(source->read(4, 1, items));
}

TEST_F(ManySource, NoticesAFileThatWasReplaced) {
    const auto source =
        open_input(input({InputFormat::txt}, {write("a", "1\n"), write("b", "2\n"), write("c", "3\n")}), codec_);

    std::filesystem::rename(write("new", "4\n"), folder() / "c");

    EXPECT_THAT(error_of([&] { source->check_content(); }).text().where, HasSubstr("/c"));
    std::filesystem::rename(write("new", "3\n"), folder() / "c");
    EXPECT_NO_THROW(source->check_content());
}

TEST_F(ManySource, ReadsEachFileOnceForItsItems) {
    std::vector<std::filesystem::path> paths;
    for (int file = 0; file < 50; ++file) {
        std::string text;
        for (int i = 0; i < 997; ++i) {
            text += fmt::format("{} {}\n", i, std::string(90, 'x'));
        }
        paths.push_back(write(std::to_string(file), text));
    }
    const auto source = open_input(input({InputFormat::txt}, paths), codec_);

    static_cast<void>(read_all(*source, codec_, 100));

    EXPECT_EQ(source->reads().items, source->bytes());
    EXPECT_LE(source->reads().indexing, source->bytes() + paths.size() * 64);
}

TEST_F(ManySource, ThatWasCountedIsOpenedAlone) {
    const JobConfig::Input in = input({InputFormat::csv}, {write("a", "1\n2\n"), write("b", "3\n")});
    const CountedInput counted{.stamp = open_input(in, codec_)->stamp(), .items = 3};

    const auto same = open_counted_input(in, codec_, counted);

    EXPECT_EQ(same->count(), 3U);
    EXPECT_EQ(same->stamp(), counted.stamp);
    EXPECT_EQ(same->reads().file, 6U);
    EXPECT_EQ(same->files().size(), 2U);
    std::vector<std::byte> items(codec_.shape().input_bytes);
    EXPECT_THROW(same->read(0, 1, items), ContractViolation);
    write("b", "3\n4\n");
    EXPECT_THROW(same->check_content(), Error);
    EXPECT_EQ(open_counted_input(in, codec_, counted)->count(), 4U);
}

}  // namespace
}  // namespace sluice::test
