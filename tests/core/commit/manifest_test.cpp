#include "core/commit/manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/commit/json_text.hpp"
#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ManifestTest : public testing::Test {
protected:
    ManifestTest() { std::filesystem::create_directories(paths_.run_folder()); }

    [[nodiscard]] Manifest example() const {
        return {.fingerprint = "0123",
                .attempt = 3,
                .parts = lay_out(paths_, {{0, 100, 0xFFFF000011112222, 36, 0}, {1, 50, 17, 14, 2}}),
                .notes = {.inputs = {{"/in/a.csv", 70, 0, 36}, {"/in/b \xC3\xB6.csv", 30, 36, 14}},
                          .provenance = {{"host", "n07"}, {"build", "abc"}}}};
    }
    [[nodiscard]] std::string reading(const std::string& text) const {
        write_file(paths_.manifest(), text);
        return code_of([&] { static_cast<void>(read_manifest(paths_)); });
    }

    TemporaryFolder folder_;
    RunPaths paths_ = run_paths(folder_.path() / "labels/", ".csv");
};

TEST_F(ManifestTest, ReadsBackAsItWasWritten) {
    write_file(paths_.manifest(), encode(example()));

    const Manifest read = read_manifest(paths_).value();

    EXPECT_EQ(read.parts, example().parts);
    EXPECT_EQ(read.fingerprint, "0123");
    EXPECT_EQ(read.attempt, 3U);
    EXPECT_EQ(read.notes.provenance, example().notes.provenance);
    EXPECT_EQ(read.notes.inputs, example().notes.inputs);
    EXPECT_EQ(read.items(), 50U);
    EXPECT_EQ(read.nonfinite(), 2U);
}

TEST_F(ManifestTest, OfAnEarlierVersionHasNoInputs) {
    Json json = Json::parse(encode(example()));
    json.erase("inputs");
    json.erase("checksum");
    write_file(paths_.manifest(), sealed_text(json));

    const Manifest read = read_manifest(paths_).value();

    EXPECT_THAT(read.notes.inputs, IsEmpty());
    EXPECT_EQ(read.parts, example().parts);
}

TEST_F(ManifestTest, NamesEachPartWithItsPlace) {
    EXPECT_EQ(example().parts[1].file, "part-00001.csv");
    EXPECT_EQ(example().parts[1].offset, 0U);

    const auto parts = lay_out(run_paths(folder_.path() / "one.csv", ".csv"), {{0, 100, 1, 36, 0}, {1, 50, 17, 14, 2}});
    EXPECT_EQ(parts[1].file, "one.csv");
    EXPECT_EQ(parts[1].offset, 100U);
}

TEST_F(ManifestTest, IsRefusedWhenAnyByteHasChangedOrIsMissing) {
    std::string text = encode(example());
    for (std::size_t at = 0; at < text.size(); ++at) {
        text[at] = static_cast<char>(text[at] ^ 1);
        EXPECT_EQ(reading(text), "84 E-CKP-088") << at;
        text[at] = static_cast<char>(text[at] ^ 1);
        EXPECT_EQ(reading(text.substr(0, at)), "84 E-CKP-088") << at;
    }
    EXPECT_EQ(reading(sealed_text({{"format", "something else"}})), "84 E-CKP-088");
    EXPECT_EQ(reading(text), "none");
}

TEST_F(ManifestTest, OfAnotherVersionIsRefusedWithBothVersions) {
    const auto message_of = [&](const Json& version) {
        write_file(paths_.manifest(), sealed_text({{"format", "sluice manifest"}, {"version", version}}));
        try {
            static_cast<void>(read_manifest(paths_));
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::configuration);
            return error.text().id + (": " + error.text().what);
        }
        return std::string("accepted");
    };

    EXPECT_EQ(message_of(2), "E-CKP-089: was written by a newer sluice (format 2, expected 1)");
    EXPECT_EQ(message_of(0), "E-CKP-089: was written in a form that is not known (format 0, expected 1)");
    EXPECT_EQ(message_of("x"), "E-CKP-089: was written in a form that is not known (format \"x\", expected 1)");
}

TEST_F(ManifestTest, IsNoneWhileTheRunIsNotComplete) {
    EXPECT_FALSE(read_manifest(paths_));
}

class Verify : public testing::TestWithParam<OutputLayout> {
protected:
    Verify() { run_to_the_end(run_, run_.options()); }

    [[nodiscard]] std::filesystem::path published(std::uint32_t part) const {
        return run_.paths().published_folder() / run_.paths().published_name(part);
    }

    RunFolder run_{FakeJob{.layout = GetParam()}};
};

TEST_P(Verify, FindsAllWellAfterARun) {
    const Verification verification = verify_output(run_.paths());

    EXPECT_THAT(verification.problems, IsEmpty());
    EXPECT_EQ(verification.parts, 3U);
    EXPECT_EQ(verification.items, 100U);
    std::uint64_t bytes = 0;
    for (const std::string& file : run_.published()) {
        bytes += file.size();
    }
    EXPECT_EQ(verification.bytes, bytes);
    require_intact(verification, run_.paths());
}

TEST_P(Verify, FindsEveryByteThatHasChanged) {
    const std::string text = contents(published(2));
    for (std::size_t at = 0; at < text.size(); ++at) {
        std::string changed = text;
        changed[at] = static_cast<char>(changed[at] ^ 0x10);
        write_file(published(2), changed);
        EXPECT_EQ(verify_output(run_.paths()).problems.size(), 1U) << at;
    }
}

TEST_P(Verify, FindsWhatIsMissingOrTooMuch) {
    const std::string text = contents(published(2));
    write_file(published(2), text + "x");
    EXPECT_THAT(verify_output(run_.paths()).problems, ElementsAre(HasSubstr("bytes, expected")));
    write_file(published(2), text.substr(0, text.size() - 1));
    EXPECT_THAT(verify_output(run_.paths()).problems, ElementsAre(HasSubstr("ends before byte")));
    std::filesystem::remove(published(2));
    EXPECT_THAT(verify_output(run_.paths()).problems, ElementsAre(HasSubstr("missing")));

    EXPECT_EQ(code_of([&] { require_intact(verify_output(run_.paths()), run_.paths()); }), "84 E-CKP-088");
}

TEST_P(Verify, FindsAManifestOfAnotherJob) {
    const RunFolder other(FakeJob{.layout = GetParam(), .items = 50});
    run_to_the_end(other, other.options());
    std::filesystem::copy_file(other.paths().identity(), run_.paths().identity(),
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_THAT(verify_output(run_.paths()).problems, ElementsAre("MANIFEST.json: of another job than job.json"));

    std::filesystem::remove(run_.paths().identity());
    EXPECT_THAT(verify_output(run_.paths()).problems, ElementsAre("job.json: missing"));
}

TEST_P(Verify, NamesTheFilesThatAreMissing) {
    const Manifest manifest = read_manifest(run_.paths()).value();
    EXPECT_THAT(missing_files(run_.paths(), manifest), IsEmpty());

    const std::string last = manifest.parts.back().file;
    std::filesystem::remove(run_.paths().published_folder() / last);

    EXPECT_THAT(missing_files(run_.paths(), manifest), ElementsAre(last));
    EXPECT_THAT(verify_output(run_.paths()).problems, ElementsAre(last + ": missing"));
}

TEST_P(Verify, RefusesWhatIsNotFinished) {
    const RunFolder unfinished(FakeJob{.layout = GetParam()});
    const CommittedOutput run(unfinished.options());

    EXPECT_EQ(code_of([&] { static_cast<void>(verify_output(unfinished.paths())); }), "66 E-OUT-111");
}

TEST_P(Verify, SaysWhoStillWritesWhatIsNotFinished) {
    const RunFolder unfinished(FakeJob{.layout = GetParam()});
    const auto error = [&] {
        try {
            static_cast<void>(verify_output(unfinished.paths()));
        } catch (const Error& thrown) {
            return thrown.text();
        }
        return ErrorText{};
    };
    const CommittedOutput run(unfinished.options());
    const std::filesystem::path attempt = unfinished.paths().attempt(1);

    EXPECT_EQ(error().what, "is not complete: it is still being written by " + describe(read_owner(attempt).value()));
    EXPECT_THAT(error().hint, HasSubstr("status` shows how far it is"));

    Owner killed = read_owner(attempt).value();
    killed.process_start += 1;  // another process has its number
    write_file(owner_file(attempt), encode(killed));
    EXPECT_EQ(error().hint, "run its job again to finish it");
}

INSTANTIATE_TEST_SUITE_P(Layouts, Verify, testing::Values(OutputLayout::file, OutputLayout::folder),
                         [](const auto& test) {
                             return std::string(test.param == OutputLayout::file ? "File" : "Folder");
                         });

}  // namespace
}  // namespace sluice::test
