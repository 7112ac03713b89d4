#include "core/commit/run_paths.hpp"

#include <gtest/gtest.h>

#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

TEST(RunPaths, OfAFileLieBesideIt) {
    const RunPaths paths = run_paths("/data/x/../labels.csv", ".csv");

    EXPECT_EQ(paths.layout, OutputLayout::file);
    EXPECT_EQ(paths.output, "/data/labels.csv");
    EXPECT_EQ(paths.run_folder(), "/data/labels.csv.sluice");
    EXPECT_EQ(paths.identity(), "/data/labels.csv.sluice/job.json");
    EXPECT_EQ(paths.attempt(12), "/data/labels.csv.sluice/attempts/12");
    EXPECT_EQ(paths.manifest(), "/data/labels.csv.sluice/MANIFEST.json");
    EXPECT_EQ(paths.published_folder() / paths.published_name(0), "/data/labels.csv");
}

TEST(RunPaths, OfAFolderLieInIt) {
    const RunPaths paths = run_paths("/data/labels/", ".npy");

    EXPECT_EQ(paths.layout, OutputLayout::folder);
    EXPECT_EQ(paths.output, "/data/labels");
    EXPECT_EQ(paths.run_folder(), "/data/labels/.sluice");
    EXPECT_EQ(paths.manifest(), "/data/labels/MANIFEST.json");
    EXPECT_EQ(paths.published_folder() / paths.published_name(17), "/data/labels/part-00017.npy");
    EXPECT_EQ(paths.published_name(123456), "part-123456.npy");
}

TEST(RunPaths, StayWhereTheyAreWhenTheCurrentFolderChanges) {
    EXPECT_TRUE(run_paths("labels.csv", ".csv").output.is_absolute());
    EXPECT_EQ(run_paths("labels/", ".csv").output, std::filesystem::current_path() / "labels");
}

TEST(RunPaths, LeadFromALinksTargetToTheFolderAboveIt) {
    const TemporaryFolder folder;
    const std::filesystem::path root = std::filesystem::canonical(folder.path());
    std::filesystem::create_directories(root / "project" / "jobs");
    std::filesystem::create_directory_symlink("project/jobs", root / "link");

    EXPECT_EQ(run_paths(root / "link/../labels.csv", ".csv").output, root / "project/labels.csv");
    EXPECT_EQ(run_paths(root / "link/.././labels/", ".csv").output, root / "project/labels");
    EXPECT_EQ(run_paths(root / "link/..", ".csv").output, root / "project");
    EXPECT_EQ(run_paths(root / "link/../../labels.csv", ".csv").output, root / "labels.csv");
    EXPECT_EQ(run_paths(root / "link/labels.csv", ".csv").output, root / "link/labels.csv");
    EXPECT_EQ(run_paths(root / "link/none/../labels.csv", ".csv").output, root / "link/labels.csv");
}

TEST(RunPaths, RefuseWhatIsNoPath) {
    EXPECT_EQ(code_of([] { static_cast<void>(run_paths("", ".csv")); }), "73 E-OUT-021");
    EXPECT_EQ(code_of([] { static_cast<void>(run_paths(std::string("a\0b", 3), ".csv")); }), "73 E-OUT-021");
}

TEST(RunPaths, RefuseAnOutputWhoseRunsFilesWouldHaveTooLongPaths) {
    const std::string folder(3900, 'x');  // no file has to be there
    const auto code = [&](std::size_t length) {
        return code_of([&] { static_cast<void>(run_paths("/" + folder + "/" + std::string(length, 'y'), ".csv")); });
    };

    EXPECT_EQ(code(100), "none");
    EXPECT_EQ(code(108), "73 E-OUT-021");  // with ".sluice/attempts/" and what is there more than 4095
    EXPECT_EQ(code(190), "73 E-OUT-021");
}

TEST(RunPaths, AreFoundByEveryNameOfTheRun) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder.path() / "labels.csv.sluice");
    std::filesystem::create_directories(folder.path() / "labels" / ".sluice");

    for (const char* name : {"labels.csv", "labels.csv.sluice", "labels.csv.sluice/"}) {
        const auto found = find_run(folder.path() / name);
        ASSERT_TRUE(found) << name;
        EXPECT_EQ(found->layout, OutputLayout::file);
        EXPECT_EQ(found->output, folder.path() / "labels.csv");
    }
    for (const char* name : {"labels", "labels/", "labels/.sluice", "labels/.sluice/"}) {
        const auto found = find_run(folder.path() / name);
        ASSERT_TRUE(found) << name;
        EXPECT_EQ(found->layout, OutputLayout::folder);
        EXPECT_EQ(found->output, folder.path() / "labels");
    }
    EXPECT_FALSE(find_run(folder.path() / "other.csv"));
    EXPECT_FALSE(find_run(folder.path()));
}

}  // namespace
}  // namespace sluice::test
