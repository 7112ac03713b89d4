// Runs whose input is several files, against runs of the file that they make together.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "tests/e2e/early_end.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

/// Writes parts/00.txt, … with `texts` in parts of those sizes, over and over, the last text of a file without a line
/// end.
std::size_t write_parts(const JobFolder& job, const std::vector<std::string>& texts,
                        const std::vector<std::size_t>& sizes) {
    std::filesystem::create_directories(job.path() / "parts");
    std::size_t file = 0;
    for (std::size_t first = 0; first < texts.size(); ++file) {
        const std::size_t size = std::min(sizes[file % sizes.size()], texts.size() - first);
        std::string text;
        for (const std::string& line : std::span(texts).subspan(first, size)) {
            text += (text.empty() ? "" : "\n") + line;
        }
        write_file(job.path() / fmt::format("parts/{:02}.txt", file), text);
        first += size;
    }
    return file;
}

const std::vector<std::string> parts = set({"input.path=parts/*.txt"});

TEST(ManyFiles, GoOnAcrossTheirBordersAfterAKill) {
    const std::vector<std::string> texts = mostly_held_texts(300);
    const JobFolder job(texts);
    write_parts(job, texts, {13, 0, 7, 1, 41});
    const std::string expected = whole_output(job, 0, small_chunks);
    const auto words = joined(small_chunks, parts);

    const auto killed = computing(job, words);
    killed->send(SIGKILL);
    EXPECT_EQ(killed->wait().exit_code, 128 + SIGKILL);
    job.release();
    std::filesystem::remove(job.path() / "job.toml");
    const TemporaryFolder elsewhere;
    const ProcessResult result = run_sluice(job, {"resume", job.path() / "labels.csv"}, elsewhere.path());

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(contents(job.path() / "labels.csv") == expected);
}

TEST(ManyFiles, GoOnAcrossTheirBordersOnOtherRanks) {
    const std::vector<std::string> texts = mostly_held_texts(300);
    const JobFolder job(texts);
    write_parts(job, texts, {1, 9, 2, 4});
    const std::string expected = whole_output(job, 0, small_chunks);
    const auto words = joined(small_chunks, parts);
    EXPECT_EQ(stop_early(job, words).exit_code, 75);

    const ProcessResult result = job.run_ranks(3, words);

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(contents(job.path() / "labels.csv") == expected);
}

TEST(ManyFiles, OfARunMayBeMovedWithIt) {
    const std::vector<std::string> texts = mostly_held_texts(60);
    const JobFolder job(texts);
    write_parts(job, texts, {13});
    const std::string expected = whole_output(job, 0, {});
    EXPECT_EQ(stop_early(job, joined(small_chunks, parts)).exit_code, 75);
    const TemporaryFolder elsewhere;
    const std::filesystem::path moved = elsewhere.path() / "moved [1]";
    std::filesystem::create_directory(moved);
    for (const char* name : {"parts", "labels.csv.sluice"}) {
        std::filesystem::rename(job.path() / name, moved / name);
    }

    const ProcessResult result = run_sluice(job, {"resume", moved / "labels.csv"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(contents(moved / "labels.csv") == expected);
}

TEST(ManyFiles, AreListedInTheManifestWithTheirItems) {
    const std::vector<std::string> texts = make_texts(50);
    const JobFolder job(texts);
    write_parts(job, texts, {20, 5});
    write_file(job.path() / "parts/01a.txt", "");
    EXPECT_EQ(job.run_alone(joined(parts, set({"input.count=2"}))).exit_code, 0);

    const json manifest = json::parse(contents(job.path() / "labels.csv.sluice/MANIFEST.json"));
    const json report = json::parse(contents(job.path() / "labels.csv.report.json"));

    std::uint64_t first = 0;
    std::uint64_t bytes = 0;
    const std::vector<std::pair<std::string, std::uint64_t>> expected{
        {"00", 40}, {"01", 10}, {"01a", 0}, {"02", 40}, {"03", 10}};
    ASSERT_EQ(manifest.at("inputs").size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const json& input = manifest.at("inputs").at(i);
        const std::filesystem::path path = job.path() / "parts" / (expected[i].first + ".txt");
        EXPECT_EQ(input.at("path"), path.native());
        EXPECT_EQ(input.at("first_item"), first);
        EXPECT_EQ(input.at("items"), expected[i].second);
        EXPECT_EQ(input.at("bytes"), std::filesystem::file_size(path));
        first += expected[i].second;
        bytes += std::filesystem::file_size(path);
    }
    EXPECT_EQ(report.at("input").at("file_bytes"), bytes);
    EXPECT_EQ(report.at("input").at("bytes_read"), bytes);
    EXPECT_EQ(run_sluice(job, {"verify", "labels.csv"}).exit_code, 0);
}

TEST(ManyFiles, ThatDifferAreNamedWhenTheRunGoesOn) {
    const std::vector<std::string> texts = mostly_held_texts(60);
    const JobFolder job(texts);
    write_parts(job, texts, {13});
    const auto words = joined(small_chunks, parts);
    EXPECT_EQ(stop_early(job, words).exit_code, 75);

    write_file(job.path() / "parts/99.txt", "one more");
    const ProcessResult more = job.run_alone(words);
    std::filesystem::remove(job.path() / "parts/99.txt");
    const std::string before = contents(job.path() / "parts/02.txt");
    write_file(job.path() / "parts/02.txt", before + "x");
    const ProcessResult other = job.run_alone(words);
    write_file(job.path() / "parts/02.txt", before);
    std::filesystem::rename(job.path() / "parts/04.txt", job.path() / "parts/04");
    const ProcessResult fewer = job.run_alone(words);
    std::filesystem::rename(job.path() / "parts/04", job.path() / "parts/04.txt");
    const ProcessResult turned =
        job.run_alone(joined(small_chunks, set({"input.path=['parts/0[1-9].txt', 'parts/00.txt']"})));
    std::filesystem::rename(job.path() / "parts", job.path() / "elsewhere");
    const ProcessResult same = job.run_alone(
        joined(small_chunks, set({"input.path=['elsewhere/00.txt', 'elsewhere/01.txt', 'elsewhere/0[2-9].txt']"})));

    for (const auto& [result, what] :
         {std::pair(&more, "input file 6, "), std::pair(&other, "input file 3, "),
          std::pair(&fewer, "input file 5 (was there, is missing)"), std::pair(&turned, "input file 1, ")}) {
        EXPECT_EQ(result->exit_code, 78) << what;
        EXPECT_THAT(result->err, HasSubstr("E-CKP-090")) << what;
        EXPECT_THAT(result->err, HasSubstr(what));
    }
    EXPECT_THAT(more.err, HasSubstr("parts/99.txt' (was not there)"));
    EXPECT_THAT(more.err, HasSubstr("input (was '5 files, "));
    EXPECT_THAT(other.err, HasSubstr("parts/02.txt' (has other content)"));
    EXPECT_EQ(same.exit_code, 0) << same.err;
}

TEST(ManyFiles, AreASingleOneWhereTheyAre) {
    const std::vector<std::string> texts = mostly_held_texts(60);
    const JobFolder job(texts);
    EXPECT_EQ(stop_early(job, small_chunks).exit_code, 75);
    const std::string identity = contents(job.path() / "labels.csv.sluice/job.json");

    const ProcessResult result = job.run_alone(joined(small_chunks, set({"input.path=[\"art*.txt\"]"})));

    EXPECT_THAT(identity, Not(HasSubstr("input.files")));
    EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(ManyFiles, ThatAreReplacedWhileTheyAreReadEndTheRunBeforeItsOutputAppears) {
    const std::vector<std::string> texts = mostly_held_texts(120);
    const JobFolder job(texts);
    write_parts(job, texts, {30});
    const auto process = computing(job, joined(small_chunks, parts));
    process->send(SIGSTOP);
    const std::filesystem::path last = job.path() / "parts/03.txt";
    const std::string before = contents(last);

    write_file(job.path() / "new", std::string(before.size(), 'n'));
    std::filesystem::rename(job.path() / "new", last);
    process->send(SIGCONT);
    job.release();
    const ProcessResult result = process->wait();

    EXPECT_EQ(result.exit_code, 65);
    EXPECT_THAT(result.err, HasSubstr("E-INP-034"));
    EXPECT_THAT(result.err, HasSubstr(" parts/03.txt: replaced while running by another file"));
    EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv"));
    write_file(last, before);
    EXPECT_EQ(job.run_alone(joined(small_chunks, parts)).exit_code, 0);
}

TEST(ManyFiles, AreNeverReplaced) {
    const std::vector<std::string> texts = make_texts(20);
    const JobFolder job(texts);
    write_parts(job, texts, {5});
    write_file(job.path() / "labels", "a text");
    std::filesystem::create_hard_link(job.path() / "labels", job.path() / "parts/link.txt");

    for (const std::vector<std::string>& settings :
         {std::vector<std::string>{"output.path=parts/01.txt", "output.format=csv"},
          {"output.path=parts/new.txt", "output.format=csv"},
          {"output.path=labels", "output.format=csv"},
          {"output.report=parts/report.txt"},
          {"output.report=parts/02.txt"}}) {
        const ProcessResult result = job.run_alone(joined(parts, set(settings)));
        EXPECT_EQ(result.exit_code, 77) << settings.front() << "\n" << result.err;
        EXPECT_THAT(result.err, HasSubstr("E-SEC-019"));
    }
    EXPECT_EQ(contents(job.path() / "labels"), "a text");
}

TEST(ManyFiles, ThatCannotAllBeOpenAreRefusedBeforeTheStart) {
    const std::vector<std::string> texts = make_texts(400);
    const JobFolder job(texts);
    EXPECT_EQ(write_parts(job, texts, {1}), 400U);
    const auto run = [&](const char* soft_and_hard) {
        return Process({SLUICE_PRLIMIT, fmt::format("--nofile={}", soft_and_hard), SLUICE_PROGRAM, "check", "job.toml",
                        "--set", "input.path=parts/*.txt"},
                       {.folder = job.path()})
            .wait();
    };

    const ProcessResult low = run("100:500");
    const ProcessResult high = run("100:1000");

    EXPECT_EQ(low.exit_code, 71);
    EXPECT_THAT(low.err, HasSubstr("E-IO-005]: input.path: 400 files"));
    EXPECT_THAT(low.err, HasSubstr("ulimit -Hn"));
    EXPECT_EQ(high.exit_code, 0) << high.err;
    EXPECT_THAT(high.out, HasSubstr("files 400, items 400, file_bytes "));
}

TEST(ManyFiles, AreToldByCheck) {
    const std::vector<std::string> texts = make_texts(20);
    const JobFolder job(texts);
    write_parts(job, texts, {5});
    const auto facts = [&](const std::string& paths) {
        return json::parse(run_sluice(job, {"check", "job.toml", "--json", "--set", "input.path=" + paths}).out)
            .at("input");
    };

    const json some = facts("['parts/01.txt', 'parts/0[23].txt']");

    EXPECT_EQ(some.at("files"), 3);
    EXPECT_EQ(some.at("items"), 15);
    EXPECT_EQ(some.at("path"), json::array({"parts/01.txt", "parts/0[23].txt"}));
    EXPECT_THAT(run_sluice(job, {"check", "job.toml", "--set", "input.path=['parts/00.txt', 'parts/0[23].txt']"}).out,
                HasSubstr("input     path parts/00.txt and 1 more, format txt, files 3, items 15, "));
    EXPECT_EQ(facts("parts/*.txt").at("path"), "parts/*.txt");
    EXPECT_EQ(facts("articles.txt").at("files"), 1);
}

}  // namespace
}  // namespace sluice::test
