#include "core/commit/publish.hpp"

#include <gtest/gtest.h>

#include "core/commit/manifest.hpp"
#include "tests/core/commit/commit_fixture.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/fault_injection.hpp"

namespace sluice::test {
namespace {

class Publish : public testing::TestWithParam<OutputLayout> {
protected:
    ~Publish() override { disarm_faults(); }

    /// A run whose chunks are all there, not published yet.
    [[nodiscard]] std::unique_ptr<CommittedOutput> finished_run(std::uint64_t variant = 0) const {
        CommittedOutputOptions options = run_.options();
        options.alive_within = std::chrono::seconds(0);
        auto run = std::make_unique<CommittedOutput>(std::move(options));
        append_until(*run, run_.job(), run_.job().grid().chunks(), variant);
        return run;
    }
    /// The next attempt finds nothing to take over of a finished one, and computes all again with other results.
    [[nodiscard]] std::unique_ptr<CommittedOutput> finished_beside_another() const {
        const auto other = finished_run(7);
        std::filesystem::rename(journal_file(run_.paths().attempt(1)), run_.path() / "journal");
        auto run = finished_run(8);
        std::filesystem::rename(run_.path() / "journal", journal_file(run_.paths().attempt(1)));
        return run;
    }
    /// What that other one would have published as the first file.
    [[nodiscard]] std::string others() const {
        std::string others = FakeJob::header(run_.job().layout == OutputLayout::file ? 100 : 36);
        for (std::uint64_t id = 0; id < (run_.job().layout == OutputLayout::file ? run_.job().grid().chunks() : 4);
             ++id) {
            others += run_.job().chunk(id, 7);
        }
        return others;
    }
    [[nodiscard]] std::filesystem::path target() const {
        return run_.paths().published_folder() / run_.paths().published_name(0);
    }

    RunFolder run_{FakeJob{.layout = GetParam()}};
};

TEST_P(Publish, MakesTheFilesAppearAndTheManifestLast) {
    const auto run = finished_run();
    EXPECT_TRUE(run_.published().empty());
    EXPECT_FALSE(std::filesystem::exists(run_.paths().manifest()));

    run->publish();

    EXPECT_EQ(run_.published(), run_.job().files());
    EXPECT_EQ(run->complete()->items(), 100U);
    EXPECT_TRUE(verify_output(run_.paths()).problems.empty());
}

TEST_P(Publish, ReplacesNoFileOfAnotherOrigin) {
    const auto run = finished_run();
    write_file(target(), "mine");

    EXPECT_EQ(code_of([&] { run->publish(); }), "73 E-OUT-073");

    EXPECT_EQ(contents(target()), "mine");
    EXPECT_FALSE(std::filesystem::exists(run_.paths().manifest()));
}

TEST_P(Publish, RecognisesNoFileThatHasMoreThanItsBytes) {
    const auto run = finished_run();
    write_file(target(), run_.job().files().front() + "x");

    EXPECT_EQ(code_of([&] { run->publish(); }), "73 E-OUT-073");
}

TEST_P(Publish, AcceptsAFileWithTheSameBytes) {
    const auto run = finished_run();
    write_file(target(), run_.job().files().front());

    run->publish();

    EXPECT_EQ(run_.published(), run_.job().files());
}

TEST_P(Publish, AcceptsWhatAnotherAttemptHasPublishedAndSaysSoInTheManifest) {
    const auto run = finished_beside_another();
    write_file(target(), others());

    run->publish();

    EXPECT_EQ(contents(target()), others());
    EXPECT_TRUE(verify_output(run_.paths()).problems.empty());
}

TEST_P(Publish, RecognisesNoFileOfAnotherAttemptThatHasChangedSince) {
    const auto run = finished_beside_another();
    std::string changed = others();
    changed.back() ^= 1;
    write_file(target(), changed);

    EXPECT_EQ(code_of([&] { run->publish(); }), "73 E-OUT-073");

    EXPECT_EQ(contents(target()), changed);
}

TEST_P(Publish, IsLeftToTheNewerAttempt) {
    const auto run = finished_run();
    const auto newer = finished_run();

    EXPECT_EQ(code_of([&] { run->publish(); }), "83 E-OUT-083");
    EXPECT_TRUE(run_.published().empty());
    newer->publish();

    EXPECT_EQ(run_.published(), run_.job().files());
}

TEST_P(Publish, WorksWithoutHardLinks) {
    for (int nth = 1; nth <= 5; ++nth) {
        const RunFolder folder(FakeJob{.layout = GetParam()});
        CommittedOutput run(folder.options());
        append_until(run, folder.job(), folder.job().grid().chunks());
        arm_fault(fmt::format("link::{}=errno:EPERM", nth));

        run.publish();

        EXPECT_EQ(folder.published(), folder.job().files());
        EXPECT_TRUE(verify_output(folder.paths()).problems.empty());
    }
}

TEST_P(Publish, ChecksTheSizesOfWhatIsThere) {
    const auto run = finished_run();
    run->publish();
    const Manifest manifest = *run->complete();
    check_published_sizes(run_.paths(), manifest);

    std::filesystem::resize_file(target(), 5);
    EXPECT_EQ(code_of([&] { check_published_sizes(run_.paths(), manifest); }), "84 E-CKP-088");
    std::filesystem::remove(target());
    const Error error = error_of([&] { check_published_sizes(run_.paths(), manifest); });

    EXPECT_EQ(error.text().id, "E-CKP-088");
    EXPECT_EQ(error.text().hint,
              "restore it, or remove " + quoted(run_.paths().manifest().native()) + " to recompute it");
}

TEST_P(Publish, PromisesNothingOfAPartThatWasCutAfterItWasSealed) {
    const auto run = finished_run();
    std::filesystem::resize_file(part_file(run_.paths().attempt(1), 0), 5);

    try {
        run->publish();
        EXPECT_EQ(GetParam(), OutputLayout::file) << "which may have had the part's bytes before";
        EXPECT_EQ(run_.published(), run_.job().files());
    } catch (const Error&) {
        EXPECT_FALSE(std::filesystem::exists(run_.paths().manifest()));
    }
}

TEST_P(Publish, IsLeftToANewerAttemptThatHasNothingYet) {
    const auto run = finished_run();
    const auto newer = AttemptFolder::acquire(run_.paths(), this_process("", 0), std::chrono::seconds(0));

    EXPECT_EQ(code_of([&] { run->publish(); }), "83 E-OUT-083");
    EXPECT_TRUE(run_.published().empty());
}

/// The hint of what `run` fails with when it publishes; empty: it does not.
std::string hint_of_publishing(CommittedOutput& run) {
    try {
        run.publish();
    } catch (const Error& error) {
        return error.text().hint;
    }
    return {};
}

TEST(PublishOneFile, TakesAwayAPartThatTheDiskDoesNotGiveBack) {
    const RunFolder folder;
    CommittedOutputOptions options = folder.options();
    options.alive_within = std::chrono::seconds(0);
    CommittedOutput run(options);
    arm_fault("copy::2=errno:EIO,copy.read::1=errno:EIO");
    append_until(run, folder.job(), folder.job().grid().chunks());

    EXPECT_EQ(hint_of_publishing(run), "run the same command again: it recomputes part 1");

    disarm_faults();
    EXPECT_TRUE(std::filesystem::exists(part_file(folder.paths().attempt(1), 0)));
    EXPECT_FALSE(std::filesystem::exists(part_file(folder.paths().attempt(1), 1)));
    run_to_the_end(folder, options);
    EXPECT_EQ(folder.published(), folder.job().files());
}

TEST(PublishFolder, NamesAPartThatSomebodyHasRemoved) {
    const RunFolder folder{FakeJob{.layout = OutputLayout::folder}};
    CommittedOutput run(folder.options());
    append_until(run, folder.job(), folder.job().grid().chunks());
    const std::filesystem::path part = part_file(folder.paths().attempt(1), 0);
    std::filesystem::remove(part);

    const Error error = error_of([&] { run.publish(); });

    EXPECT_EQ(error.text().where, part);
    EXPECT_EQ(error.code(), ExitCode::io_error);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Publish, testing::Values(OutputLayout::file, OutputLayout::folder),
                         [](const auto& test) {
                             return std::string(test.param == OutputLayout::file ? "File" : "Folder");
                         });

}  // namespace
}  // namespace sluice::test
