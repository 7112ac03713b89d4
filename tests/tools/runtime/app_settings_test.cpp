#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/rank_board.hpp"
#include "core/device/cuda.hpp"
#include "core/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tools/runtime/job_file.hpp"
#include "tools/runtime/job_output.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/meet_ranks.hpp"

namespace sluice {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr std::array<std::string_view, 2> modes{"sample", "beam"};
constexpr std::array generator_keys{
    KeySpec{.section = "generate", .name = "greedy", .type = KeyType::boolean, .fallback = "false"},
    KeySpec{.section = "generate", .name = "seed", .type = KeyType::integer, .most = 99, .fallback = "17"},
    KeySpec{.section = "generate", .name = "temperature", .type = KeyType::real, .highest = 2, .fallback = "0.8"},
    KeySpec{.section = "generate", .name = "mode", .choices = modes, .fallback = "\"sample\""},
    KeySpec{.section = "generate", .name = "stop", .type = KeyType::words, .fallback = "[]"},
    KeySpec{.section = "generate", .name = "tokenizer", .type = KeyType::path, .required = true}};

class OneByteCodec final : public ItemCodec {
public:
    [[nodiscard]] IoShape shape() const noexcept override { return {1, 4}; }
    void encode(std::uint64_t, std::string_view, std::span<std::byte> to) const override { to[0] = {}; }
    [[nodiscard]] std::vector<OutputField> output_fields() const override { return {{.name = "label"}}; }
};

/// Reads its tokenizer, and a file beside that, of which no key tells.
class OpenGenerator final : public OpenApp {
public:
    explicit OpenGenerator(AppSettings given) : settings(std::move(given)) {}

    [[nodiscard]] IoShape shape() const noexcept override { return OneByteCodec().shape(); }
    [[nodiscard]] double flop_per_item(const WeightBlob&) const noexcept override { return 1; }
    void check(Precision precision, DeviceKind kind) const override {
        if (precision == Precision::fp32 && kind == DeviceKind::host &&
            settings.get<std::uint64_t>("generate.seed") == 99) {
            throw Error(ExitCode::configuration,
                        {.id = "E-CFG-105", .where = "generate.seed", .what = "not on the host", .hint = "remove it"});
        }
    }
    [[nodiscard]] std::vector<AppFile> files() const override {
        const auto& tokenizer = settings.get<std::filesystem::path>("generate.tokenizer");
        return {{.name = "generate.merges", .path = tokenizer.parent_path() / "merges.txt"}};
    }
    [[nodiscard]] std::unique_ptr<ItemCodec> make_codec() const override { return std::make_unique<OneByteCodec>(); }
    [[nodiscard]] WeightBlob read_weights(const std::filesystem::path&) const override {
        return WeightBlob::of_floats(1);
    }
    [[nodiscard]] WeightBlob random_weights(std::uint64_t) const override { return WeightBlob::of_floats(1); }
    [[nodiscard]] std::unique_ptr<LoadedApp> load(const WeightBlob&, Precision, DeviceKind) const override {
        throw std::logic_error("nothing is computed here");
    }

    AppSettings settings;
};

class GeneratorApp final : public App {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "generator"; }
    [[nodiscard]] std::string_view summary() const noexcept override { return "has keys of every type"; }
    [[nodiscard]] std::span<const KeySpec> keys() const noexcept override { return generator_keys; }
    [[nodiscard]] std::unique_ptr<OpenApp> open(const AppSettings& settings) const override {
        return std::make_unique<OpenGenerator>(settings);
    }
};

class GeneratorJob : public testing::Test {
protected:
    void SetUp() override {
        write("items.txt", "a\nb\nc\n");
        write("model/tokenizer.json", "one");
        write("model/merges.txt", "two");
        write("job.toml",
              "app = \"generator\"\ninput.path = \"items.txt\"\noutput.path = \"out.csv\"\nmodel.random = 1\n"
              "run.device = \"host\"\npipeline.chunk_items = 1\n"
              "[generate]\ntokenizer = \"model/tokenizer.json\"\ntemperature = 0.1\nstop = [\"\\n\"]\n");
    }

    void write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories((folder_.path() / name).parent_path());
        test::write_file(folder_.path() / name, text);
    }

    [[nodiscard]] PreparedJob prepare(std::vector<Override> overrides = {}) const {
        return prepare_job(read_job({.path = folder_.path() / "job.toml", .overrides = std::move(overrides)}, apps_),
                           apps_);
    }

    [[nodiscard]] PreparedJob prepare_only_to_compare(std::vector<Override> overrides = {}) const {
        const JobFile file{.path = folder_.path() / "job.toml", .overrides = std::move(overrides)};
        return prepare_to_compare(read_job(file, apps_), apps_);
    }

    /// A run of which an item is committed.
    void begin() const {
        PreparedJob job = prepare();
        RankBoard board;
        const auto output = open_output(job, board);
        output->append(1, std::vector<std::byte>(4));
        output->commit();
        keep_job(job);
    }

    /// What going on with `overrides` is refused for.
    [[nodiscard]] std::string refusal(std::vector<Override> overrides = {}) const {
        const PreparedJob job = prepare(std::move(overrides));
        try {
            return check_output(job) == OutputState::unfinished ? "" : "there is no run";
        } catch (const Error& error) {
            EXPECT_EQ(error.text().id, "E-CKP-090");
            return error.text().what;
        }
    }

    TemporaryFolder folder_;
    GeneratorApp generator_;
    Apps apps_{{&generator_}};
};

TEST_F(GeneratorJob, OpensItsAppAlikeOnEveryRank) {
    const PreparedJob job = prepare({{"generate.mode", "beam"}});

    const RootAnnouncement heard = decode_announcement(encode(RootAnnouncement{.plan = job.plan}));
    const auto opened = open_app(heard.plan, apps_);

    EXPECT_EQ(dynamic_cast<const OpenGenerator&>(*opened).settings, job.job.settings);
    EXPECT_EQ(job.job.settings.get<std::string>("generate.mode"), "beam");
    EXPECT_EQ(job.job.settings.entries().size(), generator_keys.size());
}

TEST_F(GeneratorJob, IsRefusedWhereItsAppHasNoSuchModelInTheJobsPrecisionAndOnItsDevices) {
    EXPECT_EQ(prepare({{"generate.seed", "98"}}).plan.device, DeviceKind::host);

    const Error error = test::error_of([&] { return prepare({{"generate.seed", "99"}}); });

    EXPECT_EQ(error.code(), ExitCode::configuration);
    EXPECT_EQ(error.text().what, "not on the host");
}

TEST_F(GeneratorJob, SaysWhyItHasNoGpuForItsPrecision) {
    const Error error = test::error_of([&] { return prepare({{"run.precision", "fp16"}}); });

    const std::string no_gpu = why_no_cuda();
    EXPECT_EQ(error.text().where, "run.precision");
    EXPECT_THAT(error.text().what, EndsWith(no_gpu.empty() ? "in fp32 and bf16 only" : " (no GPU: " + no_gpu + ")"));
}

TEST_F(GeneratorJob, GoesOnFromTheJobThatTheRunHasKept) {
    begin();
    const RunPaths run = run_paths(folder_.path() / "out.csv", {});

    const JobFile kept = kept_job(run, {}, apps_);

    EXPECT_EQ(read_job(kept, apps_).settings, read_job({.path = folder_.path() / "job.toml"}, apps_).settings);
    EXPECT_EQ(check_output(prepare_job(read_job(kept, apps_), apps_)), OutputState::unfinished);
}

TEST_F(GeneratorJob, IsAnotherOneWithAnyOtherSetting) {
    begin();
    write("model/other.json", "three");

    EXPECT_EQ(refusal(), "");
    EXPECT_THAT(refusal({{"generate.greedy", "true"}}), HasSubstr(": generate.greedy (was 'false', is 'true')"));
    EXPECT_THAT(refusal({{"generate.seed", "18"}}), HasSubstr(": generate.seed (was '17', is '18')"));
    EXPECT_THAT(refusal({{"generate.temperature", "0.2"}}), HasSubstr(": generate.temperature (was '0.1', is '0.2')"));
    EXPECT_THAT(refusal({{"generate.mode", "beam"}}), HasSubstr(": generate.mode (was 'sample', is 'beam')"));
    EXPECT_THAT(refusal({{"generate.stop", "[]"}}), HasSubstr(": generate.stop (was "));
    EXPECT_THAT(refusal({{"generate.tokenizer", "model/other.json"}}), HasSubstr(": generate.tokenizer (was '3 bytes"));
}

TEST_F(GeneratorJob, IsTheSameWithACopyOfAFileAndAnotherOneWithOtherContent) {
    begin();
    write("copy/tokenizer.json", "one");
    write("copy/merges.txt", "two");

    EXPECT_EQ(refusal({{"generate.tokenizer", "copy/tokenizer.json"}}), "");

    write("copy/merges.txt", "2");

    EXPECT_THAT(refusal({{"generate.tokenizer", "copy/tokenizer.json"}}), HasSubstr(": generate.merges (was '3 bytes"));
}

TEST_F(GeneratorJob, IsComparedWithItsRunWithoutCountingTheSameInputAgain) {
    begin();
    write("copy.txt", "a\nb\nc\n");

    for (const std::string input : {"items.txt", "copy.txt"}) {
        const PreparedJob job = prepare_only_to_compare({{"input.path", input}});

        EXPECT_EQ(job.plan.items, 3U);
        EXPECT_EQ(job.source->reads().indexing, 0U);
        EXPECT_EQ(check_output(job), OutputState::unfinished);
    }
}

TEST_F(GeneratorJob, IsComparedWithItsRunByItsOwnCountWhereTheInputOrHowItIsReadDiffers) {
    begin();
    write("other.txt", "a\nb\n");
    const auto difference = [&](const Override& override) -> std::string {
        const PreparedJob job = prepare_only_to_compare({override});
        EXPECT_NE(job.source->reads().indexing, 0U);
        try {
            return check_output(job) == OutputState::unfinished ? "none" : "no run";
        } catch (const Error& error) {
            return error.text().what;
        }
    };

    EXPECT_THAT(difference({"input.path", "other.txt"}), HasSubstr("items (was '3', is '2')"));
    EXPECT_THAT(difference({"input.count", "6"}), HasSubstr("items (was '3', is '18')"));
}

TEST_F(GeneratorJob, CommitsNothingOnceAFileHasChanged) {
    PreparedJob job = prepare();
    RankBoard board;
    const auto output = open_output(job, board);
    output->append(1, std::vector<std::byte>(4));

    write("model/merges.txt", "TWO");

    const Error error = test::error_of([&] { output->commit(); });

    EXPECT_EQ(error.code(), ExitCode::bad_data);
    EXPECT_EQ(error.text().id, "E-MOD-056");
    EXPECT_THAT(error.text().what, HasSubstr("generate.merges: changed while running"));
}

TEST_F(GeneratorJob, NamesAFileThatIsNotThere) {
    for (const auto& [path, name] : {std::pair("model/none.json", "generate.tokenizer: cannot open"),
                                     std::pair("model", "generate.tokenizer: not a regular file"),
                                     std::pair("items.txt", "generate.merges: cannot open")}) {
        const Error error = test::error_of([&] { return prepare({{"generate.tokenizer", path}}); });

        EXPECT_EQ(error.code(), ExitCode::no_input);
        EXPECT_EQ(error.text().id, "E-MOD-055");
        EXPECT_THAT(error.text().what, HasSubstr(name));
    }
}

}  // namespace
}  // namespace sluice
