#include "core/commit/run_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

constexpr uid_t somebody = 4242;

class AttemptInARunFolder : public testing::TestWithParam<OutputLayout> {
protected:
    AttemptInARunFolder() : folder_({.layout = GetParam()}) {}

    RunFolder folder_;
    RunPaths paths_ = folder_.paths();
};

TEST_P(AttemptInARunFolder, EndsWhenTheFolderIsMovedAndGoesOnWhenItIsBack) {
    const fs::path moved = folder_.path() / "moved";
    {
        CommittedOutput run(folder_.options());
        append_until(run, folder_.job(), 6);
        run.commit();
        fs::rename(paths_.run_folder(), moved);

        EXPECT_EQ(code_of([&] { append_until(run, folder_.job(), 12); }), "74 E-OUT-119");
        EXPECT_FALSE(fs::exists(paths_.run_folder())) << "nothing is made anew";
    }
    fs::rename(moved, paths_.run_folder());
    auto options = folder_.options();
    options.alive_within = std::chrono::seconds(0);

    CommittedOutput next(options);
    EXPECT_GE(next.first_chunk(), 6U);
    append_until(next, folder_.job(), folder_.job().grid().chunks());
    next.publish();

    EXPECT_EQ(folder_.published(), folder_.job().files());
}

TEST_P(AttemptInARunFolder, EndsWhenTheFolderIsRemoved) {
    CommittedOutput run(folder_.options());
    append_until(run, folder_.job(), 6);
    fs::remove_all(paths_.run_folder());

    EXPECT_EQ(code_of([&] { append_until(run, folder_.job(), 12); }), "74 E-OUT-119");
}

/// Whoever may write beside the run's folder can put a link in its place at any moment.
TEST_P(AttemptInARunFolder, TouchesNothingOfAFolderThatALinkLeadsTo) {
    const fs::path precious = folder_.path() / "precious";
    fs::create_directories(precious / "attempts/1");
    for (const char* name :
         {"job.json", "run.toml", "status.json", "drain", "attempts/1/w0.jrn", "attempts/1/part-00000.bin"}) {
        write_file(precious / name, "precious");
    }
    {
        CommittedOutput run(folder_.options());
        fs::rename(paths_.run_folder(), folder_.path() / "moved");
        fs::create_directory_symlink(precious, paths_.run_folder());
        EXPECT_EQ(code_of([&] { append_until(run, folder_.job(), 12); }), "74 E-OUT-119");
        run.abandon_if_empty();
    }

    for (const char* name :
         {"job.json", "run.toml", "status.json", "drain", "attempts/1/w0.jrn", "attempts/1/part-00000.bin"}) {
        EXPECT_EQ(contents(precious / name), "precious") << name;
    }
    EXPECT_EQ(code_of([&] { CommittedOutput run(folder_.options()); }), "77 E-SEC-020");
}

TEST_P(AttemptInARunFolder, IsRefusedWhereOthersMayWrite) {
    { const CommittedOutput run(folder_.options()); }
    ASSERT_EQ(::chmod(paths_.run_folder().c_str(), 0777), 0);

    EXPECT_EQ(code_of([&] { CommittedOutput run(folder_.options()); }), "77 E-SEC-020");
    EXPECT_EQ(code_of([&] { static_cast<void>(look_at_output(folder_.options())); }), "77 E-SEC-020");
}

TEST_P(AttemptInARunFolder, IsRefusedInAnotherUsers) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can give a folder away";
    }
    { const CommittedOutput run(folder_.options()); }
    ASSERT_EQ(::chown(paths_.run_folder().c_str(), somebody, somebody), 0);

    EXPECT_EQ(code_of([&] { CommittedOutput run(folder_.options()); }), "77 E-SEC-020");
}

INSTANTIATE_TEST_SUITE_P(Layouts, AttemptInARunFolder, testing::Values(OutputLayout::file, OutputLayout::folder),
                         [](const auto& test) { return test.param == OutputLayout::file ? "File" : "Folder"; });

TEST(FolderOfParts, OfAnotherUserIsRefused) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can give a folder away";
    }
    const RunFolder folder({.layout = OutputLayout::folder});
    fs::create_directory(folder.paths().output);
    ASSERT_EQ(::chown(folder.paths().output.c_str(), somebody, somebody), 0);

    EXPECT_EQ(code_of([&] { CommittedOutput run(folder.options()); }), "77 E-SEC-020");
}

}  // namespace
}  // namespace sluice::test
