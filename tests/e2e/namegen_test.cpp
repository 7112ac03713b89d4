// Jobs of the app "namegen", against names that plain loops make.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "apps/namegen/namegen_weights.hpp"
#include "kernels/philox.hpp"
#include "tests/e2e/changed_output.hpp"
#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/gru_reference.hpp"
#include "tests/support/safetensors_writer.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

constexpr GruShape name_shape{.embedding = 6, .hidden = 21, .layers = 2};
constexpr std::size_t name_count = 150;
constexpr std::uint64_t name_seed = 7;
constexpr std::uint32_t longest = 10;

/// Weights whose names are of small letters, and end now and then.
WeightBlob some_weights() {
    WeightBlob blob = namegen::random_namegen_weights(name_shape, 5);
    const std::span<float> values = namegen::namegen_tensor_values(blob);
    for (float& weight : values) {
        weight *= 3;
    }
    const std::span<float> bias = values.last(gru_symbols);
    std::ranges::fill(bias, -40.0F);
    std::ranges::fill(bias.subspan('a', 26), 0.0F);
    bias[0] = 1;
    return blob;
}

/// A folder with weights.safetensors of that, and a job of so many names, to names.csv.
class Namegen : public testing::Test {
protected:
    Namegen() : weights_(some_weights()) {
        write_safetensors(path() / "weights.safetensors", namegen::namegen_tensors(name_shape),
                          namegen::namegen_tensor_values(weights_));
        write_job("input.count = 150\n", "seed = 7\n");
    }

    void write_job(const std::string& input, const std::string& options) const {
        write_file(path() / "job.toml", "app = \"namegen\"\n" + input +
                                            "model.weights = \"weights.safetensors\"\noutput.path = \"names.csv\"\n"
                                            "[run]\ndevice = \"host\"\ndevices = 1\n[generate]\n" +
                                            options);
    }

    [[nodiscard]] ProcessResult run(int ranks, const std::vector<std::string>& settings) const {
        std::vector<std::string> words{"run", "job.toml", "--no-progress"};
        const std::vector<std::string> more = set(settings);
        words.insert(words.end(), more.begin(), more.end());
        return Process(launch_words(ranks, words, SLUICE_FAULTS_PROGRAM), {.folder = path()}).wait();
    }

    /// What a run writes, which is removed.
    [[nodiscard]] std::string output_of(int ranks, const std::vector<std::string>& settings,
                                        const std::string& name = "names.csv") const {
        const ProcessResult done = run(ranks, settings);
        EXPECT_EQ(done.exit_code, 0) << done.err;
        std::string output = contents(path() / name);
        std::filesystem::remove(path() / name);
        std::filesystem::remove_all(path() / (name + ".sluice"));
        return output;
    }

    [[nodiscard]] std::string name_of(const Sampling& sampling, const std::string& prefix,
                                      const std::function<float(std::uint32_t)>& uniform) const {
        return write_reference<double>(name_shape, namegen::namegen_weights(weights_), sampling, prefix, uniform).bytes;
    }

    /// The text that .txt has for each item.
    [[nodiscard]] std::string lines(std::size_t count, const Sampling& sampling,
                                    const std::function<std::string(std::size_t)>& prefix = {}) const {
        std::string all;
        for (std::size_t i = 0; i < count; ++i) {
            all += name_of(sampling, prefix ? prefix(i) : "", [&](std::uint32_t byte) {
                return uniform_below_one(random_words(sampling.seed, {.item = i, .number = byte}).words[0]);
            });
            all += '\n';
        }
        return all;
    }

    [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

private:
    TemporaryFolder folder_;
    WeightBlob weights_;
};

/// The name column.
std::string names_in_csv(const std::string& csv) {
    std::string names;
    for (const std::vector<std::string>& row : csv_rows(csv.substr(csv.find('\n') + 1))) {
        EXPECT_EQ(row.size(), 4U);
        const std::string name = row.at(1) == R"("")" ? "" : row.at(1);
        EXPECT_EQ(std::to_string(name.size()), row.at(2));
        EXPECT_LT(std::stod(row.at(3)), 0);
        names += name + "\n";
    }
    return names;
}

TEST_F(Namegen, MakesTheNamesOfPlainLoops) {
    const std::string names = output_of(0, {"output.path=names.txt"}, "names.txt");

    EXPECT_EQ(names, lines(name_count, {.max_length = longest, .seed = name_seed}));
    EXPECT_EQ(names_in_csv(output_of(0, {})), names);
}

class NamegenOfRanks : public Namegen, public testing::WithParamInterface<const char*> {};

TEST_P(NamegenOfRanks, GivesTheSameBytes) {
    const std::vector<std::string> settings{std::string("pipeline.chunk_items=") + GetParam()};
    const std::string alone = output_of(0, {"pipeline.chunk_items=11"});

    for (const int ranks : {0, 2, 3, 5}) {
        EXPECT_EQ(output_of(ranks, settings), alone) << ranks;
    }
    EXPECT_EQ(std::ranges::count(alone, '\n'), name_count + 1);
}

INSTANTIATE_TEST_SUITE_P(Chunks, NamegenOfRanks, testing::Values("1", "7", "1000", "auto"),
                         [](const auto& row) { return std::string(row.param); });

TEST_F(Namegen, GivesTheSameBytesAfterMpiKills) {
    const std::string whole = output_of(0, {"pipeline.chunk_items=4"});
    ASSERT_EQ(::setenv("SLUICE_FAULT", "due:0:*=salt:1,jrn.synced:0:2=kill", 1), 0);
    for (const int ranks : {3, 0}) {
        EXPECT_NE(run(ranks, {"pipeline.chunk_items=4"}).exit_code, 0);
    }
    ASSERT_EQ(::unsetenv("SLUICE_FAULT"), 0);

    const ProcessResult done = run(2, {"pipeline.chunk_items=4"});

    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("resuming after"));
    EXPECT_EQ(contents(path() / "names.csv"), whole);
}

TEST_F(Namegen, ContinuesPrefixesBySamplingAsItIsTold) {
    const std::vector<std::string> prefixes{"a", "", "zo", "tenletters", "q"};
    std::string file;
    for (const std::string& prefix : prefixes) {
        file += prefix + "\n";
    }
    write_file(path() / "prefixes.txt", file);
    write_job("input.path = \"prefixes.txt\"\ninput.count = 4\n", "seed = 7\ntemperature = 0.5\ntop_k = 9\n");

    const std::string names = output_of(0, {"output.path=names.txt"}, "names.txt");

    EXPECT_EQ(names, lines(20, {.max_length = longest, .temperature = 0.5F, .top_k = 9, .seed = name_seed},
                           [&](std::size_t i) { return prefixes[i / 4]; }));
}

TEST_F(Namegen, RefusesAPrefixThatIsTooLong) {
    write_file(path() / "prefixes.txt", "a\nelevenchars\n");
    write_job("input.path = \"prefixes.txt\"\n", "");

    const ProcessResult done = run(0, {});

    EXPECT_EQ(done.exit_code, 65);
    EXPECT_THAT(done.err, HasSubstr("prefixes.txt:2: item 1: the prefix has 11 bytes, expected at most"));
    EXPECT_THAT(done.err, HasSubstr("E-INP-032"));
}

/// A file of random numbers, and those of the C library, give the names that they are for.
TEST_F(Namegen, TakesItsRandomNumbersFromTheInputOrTheLibrary) {
    std::vector<float> draws(name_count * longest);
    ::srand(4155);
    for (float& draw : draws) {
        draw = static_cast<float>(::rand()) / static_cast<float>(RAND_MAX);
    }
    write_file(path() / "draws.bin", {reinterpret_cast<const char*>(draws.data()), draws.size() * sizeof(float)});
    std::string expected;
    for (std::size_t i = 0; i < name_count; ++i) {
        expected +=
            name_of({.max_length = longest}, "", [&](std::uint32_t byte) { return draws[i * longest + byte]; }) + "\n";
    }

    write_job("input.path = \"draws.bin\"\n", "rng = \"input\"\n");
    EXPECT_EQ(output_of(0, {"output.path=names.txt"}, "names.txt"), expected);
    write_job("input.count = 150\n", "rng = \"libc\"\nseed = 4155\n");
    EXPECT_EQ(output_of(0, {"output.path=names.txt", "pipeline.chunk_items=13"}, "names.txt"), expected);
}

TEST_F(Namegen, RefusesRandomNumbersThatAreNone) {
    write_job("input.path = \"draws.bin\"\n", "rng = \"input\"\n");
    std::vector<float> draws(2 * longest, 0.5F);
    draws[13] = 2;
    write_file(path() / "draws.bin", {reinterpret_cast<const char*>(draws.data()), draws.size() * sizeof(float)});

    const ProcessResult done = run(0, {});

    EXPECT_EQ(done.exit_code, 65);
    EXPECT_THAT(done.err, HasSubstr("item 1 (at byte 40): random number 3 is 2, expected 0 to 1"));
    write_job("input.path = \"draws.bin\"\n", "");
    EXPECT_THAT(run(0, {}).err, HasSubstr("E-INP-032"));
    write_job("input.count = 5\n", "rng = \"input\"\n");
    EXPECT_EQ(run(0, {}).exit_code, 78);
}

TEST_F(Namegen, RefusesItemsThatArePacked) {
    write_file(path() / "items.u8", "three");
    write_job("input.path = \"items.u8\"\n", "rng = \"input\"\n");

    const ProcessResult done = run(0, {});

    EXPECT_EQ(done.exit_code, 65);
    EXPECT_EQ(done.err,
              "sluice: error[E-INP-032]: items.u8: this app has no uint8 input format\n"
              "  hint: use a text format, .npy or .bin\n");
}

TEST_F(Namegen, IsGreedyAtTemperatureNothing) {
    write_job("input.count = 3\n", "temperature = 0\n");

    const std::string names = output_of(0, {"output.path=names.txt"}, "names.txt");

    EXPECT_EQ(names, lines(3, {.max_length = longest, .temperature = 0}));
}

TEST_F(Namegen, RefusesOptionsThatContradictEachOther) {
    const ProcessResult greedy = run(0, {"generate.temperature=0"});
    EXPECT_EQ(greedy.exit_code, 78);
    EXPECT_THAT(greedy.err, HasSubstr("E-CFG-105"));
}

TEST_F(Namegen, RefusesWeightsOfAnotherApp) {
    write_file(path() / "weights.safetensors", std::string(100, 'x'));
    const ProcessResult done = run(0, {});

    EXPECT_EQ(done.exit_code, 65);
    EXPECT_THAT(done.err, HasSubstr("weights.safetensors"));
    EXPECT_THAT(done.err, HasSubstr("E-MOD-"));
}

/// Each has the random numbers of its own item.
TEST_F(Namegen, MakesChosenNamesAgain) {
    ASSERT_EQ(run(2, {"output.path=names.txt", "pipeline.chunk_items=9"}).exit_code, 0);
    const auto verify = [&](const std::string& count) {
        return Process({SLUICE_FAULTS_PROGRAM, "verify", "names.txt", "--recompute", count}, {.folder = path()}).wait();
    };

    const ProcessResult same = verify("40");
    std::string names = contents(path() / "names.txt");
    names.insert(names.find('\n', names.size() / 2), "q");
    change_output(path() / "names.txt", names);
    const ProcessResult changed = verify("1000");

    EXPECT_EQ(same.exit_code, 0) << same.err;
    EXPECT_THAT(same.out, HasSubstr("; 40 items computed again: all the same"));
    EXPECT_EQ(changed.exit_code, 84);
    EXPECT_THAT(changed.out, HasSubstr("; 150 items computed again: 1 now different"));
    EXPECT_THAT(changed.err, HasSubstr("E-CKP-194"));
}

TEST_F(Namegen, CountsNamesAndCharactersOfAllRanks) {
    const ProcessResult done = run(2, {"pipeline.chunk_items=9"});

    ASSERT_EQ(done.exit_code, 0) << done.err;
    std::size_t characters = 0;
    std::size_t ended = 0;
    for (const std::vector<std::string>& row : csv_rows(contents(path() / "names.csv"))) {
        const std::size_t length = row.at(0) == "item" ? longest : std::stoul(row.at(2));
        characters += row.at(0) == "item" ? 0 : length;
        ended += length < longest ? 1 : 0;
    }
    EXPECT_GT(ended, 0U);
    EXPECT_EQ(nlohmann::json::parse(contents(path() / "names.csv.report.json")).at("run").at("counts"),
              (nlohmann::json{{"names", name_count}, {"characters", characters}, {"ended_early", ended}}));
    EXPECT_THAT(done.out, HasSubstr(fmt::format("names: {} (", name_count)));
}

TEST_F(Namegen, WritesRecordsAsNumpyReadsThem) {
    const std::string csv = output_of(0, {});
    const std::string npy = output_of(0, {"output.path=names.npy"}, "names.npy");

    constexpr std::size_t record = longest + 8;
    ASSERT_GT(npy.size(), name_count * record);
    EXPECT_THAT(npy, HasSubstr("[('name', '|S10'), ('length', '<i4'), ('log_probability', '<f4')]"));
    const std::string rows = npy.substr(npy.size() - name_count * record);
    std::string names;
    for (std::size_t i = 0; i < name_count; ++i) {
        const std::string name = rows.substr(i * record, longest);
        names += name.substr(0, name.find('\0')) + "\n";
    }
    EXPECT_EQ(names, names_in_csv(csv));
}

}  // namespace
}  // namespace sluice::test
