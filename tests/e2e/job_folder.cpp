#include "tests/e2e/job_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

constexpr std::string_view job = R"([input]
path = "articles.txt"
allow_empty = true
[model]
random = 17
[output]
path = "labels.csv"
scores = true
[run]
device = "host"
devices = 1
)";

constexpr std::array<std::string_view, 40> words{
    "market", "economy", "football", "match",   "goal",   "science", "orbit",  "software",  "oil",      "price",
    "peace",  "vote",    "minister", "team",    "coach",  "quantum", "bank",   "inflation", "striker",  "galaxy",
    "chip",   "treaty",  "league",   "shares",  "rocket", "virus",   "profit", "penalty",   "election", "browser",
    "the",    "of",      "and",      "against", "a",      "in",      "after",  "without",   "\"new\"",  "it's, well,"};

std::string joined(const std::vector<std::string>& texts) {
    std::string lines;
    for (const std::string& text : texts) {
        lines += text + "\n";
    }
    return lines;
}

}  // namespace

std::vector<std::string> make_texts(std::size_t count) {
    constexpr std::size_t most_words = 150;
    std::mt19937 random(20);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i) {
        std::string text = std::to_string(i);
        for (std::size_t left = random() % most_words; left > 0; --left) {
            text += ' ';
            text += words[random() % words.size()];
        }
        texts.push_back(std::move(text));
    }
    return texts;
}

std::vector<std::string> held_texts(std::size_t count, std::size_t first, const std::string& order) {
    std::vector<std::string> texts = make_texts(count);
    for (std::size_t i = first; i < count; ++i) {
        texts[i] = order + " " + texts[i];
    }
    return texts;
}

JobFolder::JobFolder(std::size_t items) : JobFolder(make_texts(items)) {}

JobFolder::JobFolder(const std::vector<std::string>& texts) {
    constexpr std::string_view app = SLUICE_TEST_APP;
    write_file(path() / "articles.txt", joined(texts));
    write_file(path() / "job.toml", "app = \"" + std::string(app) + "\"\n" + std::string(job) +
                                        (app == "echo" ? held_.job_lines() : std::string()));
}

std::vector<std::string> launch_words(int ranks, const std::vector<std::string>& arguments,
                                      const std::string& program) {
    std::vector<std::string> all;
    if (ranks > 0) {
        all = {SLUICE_MPIEXEC, "--oversubscribe", "-n", std::to_string(ranks)};
    }
    all.push_back(program);
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
}

std::unique_ptr<Process> JobFolder::start_ranks(int ranks, const std::vector<std::string>& arguments) const {
    std::vector<std::string> all{"run", "job.toml"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return std::make_unique<Process>(launch_words(ranks, all), ProcessOptions{.folder = path()});
}

std::unique_ptr<Process> JobFolder::start_alone(const std::vector<std::string>& arguments) const {
    return start_ranks(0, arguments);
}

ProcessResult JobFolder::run_alone(const std::vector<std::string>& arguments) const {
    return start_alone(arguments)->wait();
}

ProcessResult JobFolder::run_ranks(int ranks, const std::vector<std::string>& arguments) const {
    return start_ranks(ranks, arguments)->wait();
}

std::string JobFolder::output_of(int ranks, const std::vector<std::string>& arguments) const {
    const ProcessResult result = run_ranks(ranks, arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(result.errors().empty()) << result.err;
    const std::string output = contents(path() / "labels.csv");
    remove_output();
    return output;
}

bool JobFolder::has_begun() const {
    return std::filesystem::exists(path() / "labels.csv.sluice/attempts/1/w0.jrn");
}

bool JobFolder::has_written() const {
    return std::filesystem::exists(path() / "labels.csv.sluice/attempts/1/part-00000.bin");
}

void JobFolder::remove_output() const {
    std::filesystem::remove(path() / "labels.csv");
    std::filesystem::remove_all(path() / "labels.csv.sluice");
}

void JobFolder::expect_nothing_left() const {
    EXPECT_EQ(names_in(path()), (std::vector<std::string>{"articles.txt", "job.toml"}));
}

void JobFolder::expect_unfinished() const {
    std::vector<std::string> names = names_in(path());
    std::erase(names, "labels.csv.sluice");
    EXPECT_EQ(names, (std::vector<std::string>{"articles.txt", "job.toml"}));
    EXPECT_FALSE(std::filesystem::exists(path() / "labels.csv.sluice/MANIFEST.json"));
}

std::vector<std::string> set(const std::vector<std::string>& keys_and_values) {
    std::vector<std::string> all;
    for (const std::string& one : keys_and_values) {
        all.insert(all.end(), {"--set", one});
    }
    return all;
}

std::vector<std::string> labels_in(const std::string& csv, std::size_t items) {
    const auto rows = csv_rows(csv);
    EXPECT_EQ(rows.size(), items + 1);
    std::vector<std::string> labels;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].at(0), std::to_string(i - 1));
        labels.push_back(rows[i].at(1));
    }
    return labels;
}

}  // namespace sluice::test
