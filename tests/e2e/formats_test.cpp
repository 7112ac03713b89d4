#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/classifier_forms.hpp"
#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

/// One file of the same items, and what the job must say about it.
struct Form {
    std::string file;
    std::string bytes;
    std::vector<std::string> settings;
};

TEST(InputFormats, GiveTheSameBytesForTheSameItems) {
    std::vector<std::string> texts = make_texts(24);
    texts.emplace_back(
        "Übergrößen und naïve Capitals IN THE Alphabet: a-b\\c|d_e@f#g$h%i^j&k*l~m`n+o=p<q>r(s)t[u]v{w}");
    texts.emplace_back(2000, 'x');
    const JobFolder job(texts);
    const std::string bytes = job.output_of(0, {});
    const std::vector<Form> forms{
        {"a.csv", as_csv(texts), {"input.columns=[1]"}},
        {"b.csv", as_csv_with_header(texts), {"input.header=true", "input.columns=[\"body\"]"}},
        {"c.jsonl", as_jsonl(texts), {"input.columns=[\"body\"]"}},
        {"d.u8", as_symbols(texts), {}},
        {"e.npy", npy("|u1", fmt::format("({}, 1014)", texts.size()), as_symbols(texts)), {}},
        {"f.bin", as_one_hot(texts), {}},
        {"g.npy", npy("<f4", fmt::format("({}, 70, 1014)", texts.size()), as_one_hot(texts)), {}},
        {"h", as_csv(texts), {"input.format=csv"}},
    };

    for (const Form& form : forms) {
        write_file(job.path() / form.file, form.bytes);
        std::vector<std::string> settings{"input.path=" + form.file};
        settings.insert(settings.end(), form.settings.begin(), form.settings.end());
        EXPECT_EQ(job.output_of(0, set(settings)), bytes) << form.file;
    }
    const std::vector<std::string> labels = labels_in(bytes, texts.size());
    EXPECT_GE(std::set<std::string>(labels.begin(), labels.end()).size(), 2U);
}

/// As a pattern's files, the first of them empty where a format has files without items.
std::vector<std::string> write_parts(const JobFolder& job, const std::string& extension,
                                     const std::vector<std::string>& parts) {
    std::filesystem::create_directory(job.path() / extension);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        write_file(job.path() / extension / fmt::format("part-{:05}.{}", i, extension), parts[i]);
    }
    return {fmt::format("input.path={0}/*.{0}", extension)};
}

TEST(ManyInputFiles, GiveTheBytesOfTheJoinedFileOnAnyRanksAndInAnyChunks) {
    const std::vector<std::string> texts = make_texts(37);
    const JobFolder job(texts);
    const std::vector<std::vector<std::string>> cut{{},
                                                    {texts.begin(), texts.begin() + 11},
                                                    {texts.begin() + 11, texts.begin() + 12},
                                                    {},
                                                    {texts.begin() + 12, texts.end()}};
    const auto each = [&](const auto& as_file) {
        std::vector<std::string> files;
        for (const std::vector<std::string>& one : cut) {
            files.push_back(as_file(one));
        }
        return files;
    };
    const auto as_npy = [](const std::vector<std::string>& some) {
        return npy("|u1", fmt::format("({}, 1014)", some.size()), as_symbols(some));
    };
    const auto as_lines = [](const std::vector<std::string>& some) { return fmt::format("{}", fmt::join(some, "\n")); };
    std::vector<std::string> with_other_columns = each(as_csv_with_header);
    std::string field = as_csv(cut[2]);
    field.pop_back();  // the line end
    with_other_columns[2] = "body,extra\n" + field + ",x\n";
    const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> forms{
        {write_parts(job, "txt", each(as_lines)), {}},
        {write_parts(job, "csv", with_other_columns), {"input.header=true", "input.columns=[\"body\"]"}},
        {write_parts(job, "jsonl", each(as_jsonl)), {"input.columns=[\"body\"]"}},
        {write_parts(job, "npy", each(as_npy)), {}},
        {write_parts(job, "bin", each(as_one_hot)), {}},
    };
    const std::string expected = job.output_of(0, {});

    int ranks = 0;
    for (const char* const chunk_items : {"3", "100000"}) {
        for (const auto& [path, more] : forms) {
            std::vector<std::string> settings = path;
            settings.insert(settings.end(), more.begin(), more.end());
            settings.push_back(fmt::format("pipeline.chunk_items={}", chunk_items));
            EXPECT_EQ(job.output_of(ranks % 4, set(settings)), expected)
                << path.front() << ", " << ranks % 4 << " ranks, chunks of " << chunk_items;
            ++ranks;
        }
    }
    const std::string threefold = job.output_of(0, set({"input.count=3"}));
    EXPECT_EQ(job.output_of(2, set({"input.count=3", "pipeline.chunk_items=7", "input.path=txt/*.txt"})), threefold);
}

TEST(InputCount, GivesEachTextAsManyRowsInARowAndBelongsToTheRun) {
    const std::vector<std::string> texts = make_texts(3);
    std::vector<std::string> twice;
    for (const std::string& text : texts) {
        twice.insert(twice.end(), 2, text);
    }
    const JobFolder job(texts);

    ASSERT_EQ(job.run_alone(set({"input.count=2", "pipeline.chunk_items=3"})).exit_code, 0);
    const std::string rows = contents(job.path() / "labels.csv");
    const ProcessResult other = job.run_alone(set({"input.count=4", "pipeline.chunk_items=3"}));

    EXPECT_EQ(rows, JobFolder(twice).output_of(0, set({"pipeline.chunk_items=3"})));
    EXPECT_EQ(other.exit_code, 73);
    EXPECT_NE(other.err.find("input.count (was '2', is '4')"), std::string::npos) << other.err;
}

/// A label and four scores an item.
struct Row {
    std::int32_t label;
    std::vector<float> scores;

    friend bool operator==(const Row&, const Row&) = default;
};

std::vector<Row> rows_of_csv(const std::string& text) {
    std::vector<Row> rows;
    const auto lines = csv_rows(text);
    for (std::size_t i = 1; i < lines.size(); ++i) {
        Row row{std::stoi(lines[i].at(1)), {}};
        for (std::size_t k = 2; k < lines[i].size(); ++k) {
            row.scores.push_back(std::stof(lines[i][k]));
        }
        rows.push_back(row);
    }
    return rows;
}

std::vector<Row> rows_of_jsonl(const std::string& text) {
    std::vector<Row> rows;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto json = nlohmann::json::parse(line);
        EXPECT_EQ(json.at("item").get<std::size_t>(), rows.size());
        rows.push_back({json.at("label"), json.at("scores")});
    }
    return rows;
}

/// Rows of `<i4` and four `<f4`, after a header whose length stands in bytes 8 and 9.
std::vector<Row> rows_of_npy(const std::string& bytes) {
    constexpr std::size_t row_bytes = 20;
    const std::size_t start =
        10 + static_cast<unsigned char>(bytes.at(8)) + 256U * static_cast<unsigned char>(bytes.at(9));
    EXPECT_EQ((bytes.size() - start) % row_bytes, 0U);
    std::vector<Row> rows;
    for (std::size_t at = start; at + row_bytes <= bytes.size(); at += row_bytes) {
        Row row{0, std::vector<float>(4)};
        std::memcpy(&row.label, bytes.data() + at, sizeof row.label);
        std::memcpy(row.scores.data(), bytes.data() + at + sizeof row.label, row_bytes - sizeof row.label);
        rows.push_back(row);
    }
    return rows;
}

TEST(OutputFormats, HoldTheSameLabelsAndScores) {
    const JobFolder job(24);

    const auto run_to = [&](const std::string& file) {
        const ProcessResult result = job.run_alone({"--set", "output.path=" + file});
        EXPECT_EQ(result.exit_code, 0) << result.err;
        return contents(job.path() / file);
    };
    const std::vector<Row> rows = rows_of_csv(run_to("labels.csv"));

    EXPECT_EQ(rows.size(), 24U);
    EXPECT_TRUE(rows == rows_of_jsonl(run_to("labels.jsonl")));
    EXPECT_TRUE(rows == rows_of_npy(run_to("labels.npy")));
}

TEST(OutputFormats, HaveNoScoresUnlessTheJobAsksForThem) {
    const JobFolder job(5);

    const std::string with = job.output_of(0, {});
    const std::string without = job.output_of(0, set({"output.scores=false"}));

    EXPECT_TRUE(without.starts_with("item,label\n0,"));
    EXPECT_EQ(labels_in(without, 5), labels_in(with, 5));
}

}  // namespace
}  // namespace sluice::test
