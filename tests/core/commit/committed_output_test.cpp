#include "core/commit/committed_output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/commit/file.hpp"
#include "core/commit/manifest.hpp"
#include "tests/core/commit/committed_output_run.hpp"
#include "tests/support/fault_injection.hpp"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CommittedOutputTest : public CommittedOutputRun {};

TEST_P(CommittedOutputTest, PublishesWhatWasAppended) {
    run_to_the_end(run_, run_.options());

    EXPECT_EQ(run_.published(), run_.job().files());
}

TEST_P(CommittedOutputTest, LeavesItsIdentityTheManifestAndTheJournal) {
    run_to_the_end(run_, run_.options());

    std::vector<std::string> names;
    const std::filesystem::path base = run_.paths().run_folder();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(base)) {
        names.push_back(std::filesystem::relative(entry.path(), base).string());
    }
    std::sort(names.begin(), names.end());
    std::vector<std::string> expected{
        "attempts",          "attempts/1", "attempts/1/adopt.json", "attempts/1/alive", "attempts/1/owner.json",
        "attempts/1/w0.jrn", "job.json"};
    if (GetParam() == OutputLayout::file) {
        expected.insert(expected.begin(), "MANIFEST.json");
    }
    EXPECT_EQ(names, expected);
}

[[noreturn]] void refuse_sources() {
    throw Error(ExitCode::bad_data, {.id = "E-INP-034", .where = "input", .what = "replaced while running"});
}

TEST_P(CommittedOutputTest, CommitsNothingWhenItsSourcesHaveChanged) {
    CommittedOutputOptions options = run_.options();
    options.policy.check_sources = refuse_sources;
    CommittedOutput run(options);

    EXPECT_EQ(code_of([&] {
                  append_until(run, run_.job(), 7);
                  run.commit();
              }),
              "65 E-INP-034");

    EXPECT_EQ(run.chunks_committed(), 0U);
    EXPECT_THAT(run_.published(), IsEmpty());
}

TEST_P(CommittedOutputTest, ChecksItsSourcesAtTheFirstCommitAndBeforeItPublishesAlone) {
    int checks = 0;
    CommittedOutputOptions options = run_.options();
    options.policy.check_sources = [&] { ++checks; };
    CommittedOutput run(options);

    append_until(run, run_.job(), run_.job().grid().chunks());
    EXPECT_EQ(checks, 1);
    run.publish();
    EXPECT_EQ(checks, 2);
}

TEST_P(CommittedOutputTest, PublishesNothingWhenItsSourcesHaveChangedSince) {
    int checks = 0;
    CommittedOutputOptions options = run_.options();
    options.policy.check_sources = [&] {
        if (++checks == 2) {
            refuse_sources();
        }
    };
    CommittedOutput run(options);
    append_until(run, run_.job(), run_.job().grid().chunks());

    EXPECT_EQ(code_of([&] { run.publish(); }), "65 E-INP-034");

    EXPECT_EQ(run.chunks_committed(), run_.job().grid().chunks());
    EXPECT_THAT(run_.published(), IsEmpty());
    EXPECT_FALSE(read_manifest(run_.paths()));
}

TEST_P(CommittedOutputTest, IsCompleteTheSecondTime) {
    run_to_the_end(run_, run_.options());
    const std::string manifest = contents(run_.paths().manifest());

    const CommittedOutput run(run_.options());

    ASSERT_TRUE(run.complete());
    EXPECT_EQ(run.complete()->items(), 100U);
    EXPECT_EQ(contents(run_.paths().manifest()), manifest);
    EXPECT_EQ(run_.published(), run_.job().files());
}

TEST_P(CommittedOutputTest, IsRefusedForAnotherJob) {
    CommittedOutputOptions other = run_.options();
    other.settings[0].second = "another";
    be_killed_after(2);
    EXPECT_EQ(code_of([&] { const CommittedOutput run(other); }), "78 E-CKP-090");

    run_to_the_end(run_, run_.options());
    EXPECT_EQ(code_of([&] { const CommittedOutput run(other); }), "73 E-OUT-024");
}

TEST_P(CommittedOutputTest, RefusesADamagedIdentityOrManifest) {
    be_killed_after(2);
    write_file(run_.paths().identity(), "{}");
    EXPECT_EQ(starting(), "84 E-CKP-085");

    write_file(run_.paths().manifest(), "{}");
    EXPECT_EQ(starting(), "84 E-CKP-088");
}

TEST_P(CommittedOutputTest, MissesAPublishedFileThatWasRemoved) {
    run_to_the_end(run_, run_.options());
    std::filesystem::remove(run_.paths().published_folder() / run_.paths().published_name(0));

    EXPECT_EQ(starting(), "84 E-CKP-088");
}

TEST_P(CommittedOutputTest, PublishesTheHeaderAloneOfNoItems) {
    const RunFolder empty(FakeJob{.layout = GetParam(), .items = 0});
    run_to_the_end(empty, empty.options());

    EXPECT_THAT(empty.published(), ElementsAre("item,line\n"));
    EXPECT_THAT(verify_output(empty.paths()).problems, IsEmpty());
}

TEST_P(CommittedOutputTest, PublishesAnyNumberOfChunksAndParts) {
    for (const std::uint64_t items : {1ULL, 9ULL, 10ULL, 36ULL, 37ULL, 72ULL}) {
        for (const std::uint64_t chunks_per_part : {1ULL, 4ULL, 100ULL}) {
            const RunFolder folder(FakeJob{.layout = GetParam(), .items = items, .chunks_per_part = chunks_per_part});
            run_to_the_end(folder, folder.options());
            EXPECT_EQ(folder.published(), folder.job().files()) << items << " " << chunks_per_part;
        }
    }
}

TEST_P(CommittedOutputTest, KeepsItsFoldersPrivateAndItsFilesAsTheUmaskSays) {
    const mode_t before = ::umask(027);
    run_to_the_end(run_, run_.options());
    ::umask(before);

    const auto mode = [](const std::filesystem::path& path) { return status_of(path).value().st_mode & 07777; };
    EXPECT_EQ(mode(run_.paths().run_folder()), 0700U);
    EXPECT_EQ(mode(run_.paths().published_folder() / run_.paths().published_name(0)), 0640U);
}

/// Ends with the code of what makes publishing fail: `fault`, or `earlier`, which is there while parts are written.
std::string publishing_with(const std::string& fault, const RunFolder& folder, const std::string& earlier = {}) {
    CommittedOutput run(folder.options());
    if (!earlier.empty()) {
        arm_fault(earlier);
    }
    append_until(run, folder.job(), folder.job().grid().chunks());
    if (!fault.empty()) {
        arm_fault(fault);
    }
    const std::string code = code_of([&] { run.publish(); });
    disarm_faults();
    return code;
}

TEST_P(CommittedOutputTest, IsNoSuccessWhenItsManifestCannotBeSynced) {
    int failures = 0;
    for (int nth = 1;; ++nth) {
        const RunFolder folder(run_.job());
        const std::string code = publishing_with(fmt::format("fsync::{}=errno:EIO", nth), folder);
        if (code == "none") {
            break;
        }
        EXPECT_EQ(code, "74 E-IO-003") << nth;
        failures += std::filesystem::exists(folder.paths().manifest()) ? 1 : 0;

        CommittedOutputOptions options = folder.options();
        options.alive_within = std::chrono::seconds(0);
        const CommittedOutput next(options);
        EXPECT_EQ(next.complete() != nullptr, std::filesystem::exists(folder.paths().manifest()));
    }
    EXPECT_EQ(failures, 1) << "the sync after the manifest's link";
}

TEST_P(CommittedOutputTest, IsASuccessWhenItCannotCleanUp) {
    for (const char* call : {"unlink", "rmdir"}) {
        const RunFolder folder(run_.job());
        be_killed_after(3, folder);
        CommittedOutput run(folder.options());
        append_until(run, folder.job(), folder.job().grid().chunks());
        arm_fault(fmt::format("{}::*=errno:EIO", call));

        run.publish();

        disarm_faults();
        ASSERT_TRUE(run.complete()) << call;
        EXPECT_EQ(folder.published(), folder.job().files());
        ASSERT_FALSE(run.warnings().empty()) << call;
        EXPECT_EQ(run.warnings().front().id, "W-OUT-112");
    }
}

TEST_P(CommittedOutputTest, ComputesAgainWhatTheDiskDoesNotGiveBack) {
    int computed_again = 0;
    for (int nth = 1; nth <= 4; ++nth) {
        const RunFolder folder(run_.job());
        const std::string code =
            publishing_with("", folder, fmt::format("copy::*=errno:EINVAL,copy.read::{}=errno:EIO", nth));
        EXPECT_EQ(code, GetParam() == OutputLayout::file && nth <= 3 ? "74 E-IO-003" : "none") << nth;
        CommittedOutputOptions options = folder.options();
        options.alive_within = std::chrono::seconds(0);
        CommittedOutput run(options);
        if (!run.complete()) {
            computed_again += run.first_chunk() < folder.job().grid().chunks() ? 1 : 0;
            append_until(run, folder.job(), folder.job().grid().chunks());
            run.publish();
        }
        EXPECT_EQ(folder.published(), folder.job().files()) << nth;
    }
    EXPECT_EQ(computed_again, GetParam() == OutputLayout::file ? 3 : 0) << "in a folder, no part is read";
}

TEST_P(CommittedOutputTest, TellsHowMuchIsCommittedWheneverItIsMore) {
    be_killed_after(3);
    std::vector<std::uint64_t> told;
    CommittedOutputOptions options = run_.options(1U << 20U);
    options.on_commit = [&](std::uint64_t chunks, std::uint64_t) { told.push_back(chunks); };

    CommittedOutput run(options);
    append_until(run, run_.job(), 6);
    run.commit();
    run.commit();
    append_until(run, run_.job(), run_.job().grid().chunks());

    EXPECT_THAT(told, ElementsAre(3, 4, 6, 8, 12)) << "parts of four chunks are committed when they are full";
}

INSTANTIATE_TEST_SUITE_P(Layouts, CommittedOutputTest, testing::Values(OutputLayout::file, OutputLayout::folder),
                         layout_name);

}  // namespace
}  // namespace sluice::test
