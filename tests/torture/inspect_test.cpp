#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "core/commit/committed_output.hpp"
#include "tests/support/output_codecs.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tools/torture/job.hpp"

namespace sluice::torture {
namespace {

constexpr std::uint64_t items = 7;
constexpr std::uint32_t chunk_items = 2;
const std::string header = "item,label\n";

std::string row(std::uint64_t item, char label) {
    return std::to_string(item) + "," + label + "\n";
}

std::string rows(const std::function<char(std::uint64_t)>& label) {
    std::string text = header;
    for (std::uint64_t item = 0; item < items; ++item) {
        text += row(item, label(item));
    }
    return text;
}

const std::string as = rows([](std::uint64_t) { return 'a'; });
const std::string bs = rows([](std::uint64_t) { return 'b'; });

/// What the harness says of a program that publishes `text`, with a manifest that is true.
Damage damage_of(const std::string& text, const std::vector<std::string>& references) {
    const TemporaryFolder folder;
    const Job job(folder.path(), {.sluice = "none", .items = items, .chunk_items = chunk_items});
    const std::filesystem::path output = folder.path() / "output.csv";
    const test::TextCodec codec(100);
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    const auto count = static_cast<std::uint32_t>(lines.size());
    CommittedOutput run({.path = output,
                         .format = OutputFormat::txt,
                         .codec = &codec,
                         .items = count,
                         .chunk_items = std::max(count, 1U),
                         .me = this_process("", 0)});
    if (count != 0) {
        run.append(count, codec.results(lines));
    }
    run.publish();
    return inspect(job, output, references);
}

std::string replaced(std::string text, const std::string& old, const std::string& by) {
    return text.replace(text.find(old), old.size(), by);
}

// A harness that finds no fault with these would find none anywhere.
TEST(Inspection, CountsWhatIsLostDoubledAndDifferent) {
    EXPECT_TRUE(damage_of(as, {as}).none());
    EXPECT_EQ(damage_of(replaced(as, row(3, 'a'), ""), {as}).lost, 1U);
    EXPECT_EQ(damage_of(replaced(as, row(3, 'a'), row(3, 'a') + row(3, 'a')), {as}).doubled, 1U);
    EXPECT_EQ(damage_of(replaced(as, row(6, 'a'), row(6, 'c')), {as}).different, 1U);
    EXPECT_GT(damage_of(as + row(7, 'a'), {as}).different, 0U);
    EXPECT_GT(damage_of(replaced(as, "label", "LABEL"), {as}).different, 0U);
    EXPECT_EQ(damage_of(replaced(as, row(0, 'a') + row(1, 'a'), row(1, 'a') + row(0, 'a')), {as}).different, items);
    EXPECT_EQ(damage_of("", {as}).lost, items);
}

TEST(Inspection, AcceptsAMixByWholeChunksOnly) {
    const auto mix = [](std::uint64_t first_of_b) {
        return rows([first_of_b](std::uint64_t item) { return item < first_of_b ? 'a' : 'b'; });
    };

    EXPECT_TRUE(damage_of(mix(4), {as, bs}).none());
    EXPECT_EQ(damage_of(mix(5), {as, bs}).different, 2U) << "items 4 and 5 are of one chunk";
    EXPECT_EQ(damage_of(bs, {as}).different, items);
}

TEST(Inspection, AsksForATrueManifest) {
    const TemporaryFolder folder;
    const Job job(folder.path(), {.sluice = "none", .items = items, .chunk_items = chunk_items});

    EXPECT_NE(inspect(job, folder.path() / "output.csv", {as}).manifest, "");
}

}  // namespace
}  // namespace sluice::torture
