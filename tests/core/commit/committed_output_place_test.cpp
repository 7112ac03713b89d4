#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include "core/commit/committed_output.hpp"
#include "tests/core/commit/commit_fixture.hpp"
#include "tests/support/error_of.hpp"

namespace sluice::test {
namespace {

/// What an output needs to find in its place before it begins.
class CommittedOutputPlace : public testing::TestWithParam<OutputLayout> {
protected:
    [[nodiscard]] std::string starting() const {
        return code_of([&] { const CommittedOutput run(run_.options()); });
    }

    RunFolder run_{FakeJob{.layout = GetParam()}};
};

TEST_P(CommittedOutputPlace, IsRefusedWhileAnotherOneLives) {
    const CommittedOutput run(run_.options());

    EXPECT_EQ(starting(), "79 E-OUT-079");
}

TEST_P(CommittedOutputPlace, IsRefusedWhereSomethingElseLies) {
    const RunPaths paths = run_.paths();
    if (GetParam() == OutputLayout::folder) {
        std::filesystem::create_directory(paths.output);
        write_file(paths.output / "thesis.txt", "mine");
    } else {
        write_file(paths.output, "mine");
    }

    EXPECT_EQ(starting(), "73 E-OUT-022");

    EXPECT_FALSE(std::filesystem::exists(paths.run_folder()));
}

TEST_P(CommittedOutputPlace, IsRefusedWhereTheOutputIsOfTheOtherKind) {
    if (GetParam() == OutputLayout::folder) {
        write_file(run_.paths().output, "mine");
    } else {
        std::filesystem::create_directory(run_.paths().output);
    }

    EXPECT_EQ(starting(), "73 E-OUT-022");
}

TEST(CommittedOutputPlaceOfParts, IsRefusedAsALinkWhereOneLeadsToAFolder) {
    const RunFolder run_folder{FakeJob{.layout = OutputLayout::folder}};
    std::filesystem::create_directory(run_folder.path() / "elsewhere");
    std::filesystem::create_directory_symlink(run_folder.path() / "elsewhere", run_folder.paths().output);

    const Error error = error_of([&] { const CommittedOutput run(run_folder.options()); });

    EXPECT_EQ(error.text().id, "E-OUT-022");
    EXPECT_EQ(error.text().what, "is a symbolic link (expected a folder or nothing)");
}

TEST_P(CommittedOutputPlace, TakesAnEmptyFolderAsItsOwn) {
    create_own_folder(run_.paths().layout == OutputLayout::folder ? run_.paths().output : run_.paths().run_folder());
    run_to_the_end(run_, run_.options());

    EXPECT_EQ(run_.published(), run_.job().files());
}

TEST_P(CommittedOutputPlace, FollowsNoLinkToItsFolder) {
    std::filesystem::create_directories(run_.paths().run_folder().parent_path());
    std::filesystem::create_directory(run_.path() / "elsewhere");
    std::filesystem::create_directory_symlink(run_.path() / "elsewhere", run_.paths().run_folder());

    EXPECT_EQ(starting(), "77 E-SEC-020");
    EXPECT_TRUE(std::filesystem::is_empty(run_.path() / "elsewhere"));
}

TEST_P(CommittedOutputPlace, NeedsTheFolderThatItIsIn) {
    std::filesystem::create_directories(run_.path());
    CommittedOutputOptions options = run_.options();
    options.path = run_.path() / "none" / (GetParam() == OutputLayout::file ? "out" : "out/");

    EXPECT_EQ(code_of([&] { const CommittedOutput run(options); }), "73 E-OUT-021");
}

/// A run that has begun: its first part is sealed.
void begin(const RunFolder& run) {
    CommittedOutput output(run.options());
    append_until(output, run.job(), run.job().chunks_per_part + 1);
    output.commit();
}

TEST_P(CommittedOutputPlace, IsRefusedBeforeComputingWhereAFileHasTakenItsNameMeanwhile) {
    const RunPaths paths = run_.paths();
    const std::filesystem::path target = paths.published_folder() / paths.published_name(0);
    CommittedOutputOptions options = run_.options();
    options.alive_within = std::chrono::seconds(0);
    begin(run_);
    write_file(target, "mine");

    EXPECT_EQ(code_of([&] { static_cast<void>(look_at_output(options)); }), "73 E-OUT-073");
    EXPECT_EQ(code_of([&] { const CommittedOutput run(options); }), "73 E-OUT-073");

    EXPECT_EQ(contents(target), "mine");
    EXPECT_FALSE(std::filesystem::exists(paths.attempt(2)));
    std::filesystem::remove(target);
    CommittedOutput run(options);
    EXPECT_EQ(run.first_chunk(), run_.job().chunks_per_part + 1);
    append_until(run, run_.job(), run_.job().grid().chunks());
    run.publish();
    EXPECT_EQ(run_.published(), run_.job().files());
}

TEST_P(CommittedOutputPlace, IsKeptWhereTheJournalThatVouchesForItsFileIsDamaged) {
    const RunPaths paths = run_.paths();
    CommittedOutputOptions options = run_.options();
    options.alive_within = std::chrono::seconds(0);
    begin(run_);
    const std::filesystem::path journal = journal_file(paths.attempt(1));
    write_file(journal, contents(journal).substr(0, 70));
    write_file(paths.published_folder() / paths.published_name(0), run_.job().files().front());

    run_to_the_end(run_, options);

    EXPECT_EQ(run_.published(), run_.job().files());
}

/// An output whose size is known before, of at least two parts.
void as_labels(CommittedOutputOptions& options, std::uint64_t items) {
    static const FieldsCodec codec({{.name = "label", .type = FieldType::int32, .count = 1}});
    options.codec = &codec;
    options.format = OutputFormat::npy;
    options.items = items;
    options.chunk_items = static_cast<std::uint32_t>(std::min<std::uint64_t>(items / 2, std::uint64_t{1} << 31));
    options.chunks_per_part = 1;
}

TEST_P(CommittedOutputPlace, AsksForSpaceBeforeItStarts) {
    CommittedOutputOptions options = run_.options();
    as_labels(options, std::uint64_t{1} << 60);

    EXPECT_EQ(code_of([&] { static_cast<void>(look_at_output(options)); }), "73 E-OUT-026");
    EXPECT_EQ(code_of([&] { const CommittedOutput run(options); }), "73 E-OUT-026");
    EXPECT_FALSE(std::filesystem::exists(run_.paths().run_folder()));
    EXPECT_FALSE(std::filesystem::exists(run_.paths().output));
}

TEST_P(CommittedOutputPlace, AsksForTwiceTheSpaceToPutPartsTogether) {
    struct statvfs status = {};
    ASSERT_EQ(::statvfs(run_.path().c_str(), &status), 0);
    CommittedOutputOptions options = run_.options();
    as_labels(options, status.f_bavail * status.f_frsize / sizeof(std::int32_t) / 4 * 3);

    EXPECT_EQ(code_of([&] { const CommittedOutput run(options); }),
              GetParam() == OutputLayout::file ? "73 E-OUT-026" : "none");
}

INSTANTIATE_TEST_SUITE_P(Layouts, CommittedOutputPlace, testing::Values(OutputLayout::file, OutputLayout::folder),
                         [](const auto& test) {
                             return std::string(test.param == OutputLayout::file ? "File" : "Folder");
                         });

}  // namespace
}  // namespace sluice::test
