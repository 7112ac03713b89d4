#include "core/commit/clean.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "core/commit/attempt_folder.hpp"
#include "core/commit/file.hpp"
#include "core/commit/file_effect.hpp"
#include "core/files/paths.hpp"
#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

class CleanTest : public testing::Test {
protected:
    CleanTest() {
        std::filesystem::create_directories(paths_.run_folder());
        for (int i = 0; i < 3; ++i) {
            const AttemptFolder attempt = AttemptFolder::acquire(paths_, me_, seconds(0));
            write_file(journal_file(attempt.folder()), "");
            write_file(part_file(attempt.folder(), 0), "abc");
            me_.id = make_unique_id();
        }
    }
    /// AttemptFolder `number` now belongs to somebody on another host, who sent a heartbeat a moment ago.
    void give_away(std::uint32_t number) const {
        Owner other = me_;
        other.id = make_unique_id();
        other.host = "another";
        write_file(owner_file(paths_.attempt(number)), encode(other));
    }

    TemporaryFolder folder_;
    RunPaths paths_ = run_paths(folder_.path() / "out.csv", ".csv");
    Owner me_ = this_process("", 0);
};

TEST_F(CleanTest, LeavesTheJournalOfThePublishedAttemptAlone) {
    EXPECT_TRUE(clean_run(paths_, 2, me_, seconds(0)).empty());

    EXPECT_THAT(attempts_of(paths_), ElementsAre(2));
    EXPECT_THAT(names_in_folder(paths_.attempt(2)), ElementsAre("alive", "owner.json", "w0.jrn"));
}

TEST_F(CleanTest, LeavesWhoMayStillBeAlive) {
    give_away(1);
    give_away(3);

    EXPECT_TRUE(clean_run(paths_, 3, me_, seconds(60)).empty());

    EXPECT_THAT(attempts_of(paths_), ElementsAre(1, 2, 3)) << "2 is owned by this living process, under another id";
    EXPECT_TRUE(std::filesystem::exists(part_file(paths_.attempt(3), 0)));
    EXPECT_TRUE(std::filesystem::exists(part_file(paths_.attempt(1), 0)));
}

TEST_F(CleanTest, RemovesWhatItOwnsItself) {
    me_ = read_owner(paths_.attempt(3)).value();

    EXPECT_TRUE(clean_run(paths_, 1, me_, seconds(60)).empty());

    EXPECT_THAT(attempts_of(paths_), ElementsAre(1, 2));
}

TEST_F(CleanTest, RemovesFoldersAndFilesThatNobodyFinished) {
    std::filesystem::create_directory(paths_.attempts() / ".new-abc");
    write_file(paths_.run_folder() / "job.json.abc.new", "x");
    write_file(paths_.attempts() / ".now-abc", "");
    write_file(paths_.attempt(3) / "out.csv.copy", "x");
    write_file(paths_.attempt(3) / "MANIFEST.json.abc.new", "x");
    std::filesystem::rename(paths_.attempt(1), paths_.run_folder() / ".gone-abc");

    EXPECT_TRUE(clean_run(paths_, 3, me_, seconds(0)).empty());

    EXPECT_THAT(names_in_folder(paths_.attempts()), ElementsAre("3"));
    EXPECT_THAT(names_in_folder(paths_.attempt(3)), ElementsAre("alive", "owner.json", "w0.jrn"));
    EXPECT_THAT(names_in_folder(paths_.run_folder()), ElementsAre("attempts"));
}

TEST_F(CleanTest, LeavesAnEmptyAttemptThatIsOnItsWayOut) {
    give_away(1);
    std::filesystem::rename(paths_.attempt(1), paths_.run_folder() / ".gone-abc");

    EXPECT_TRUE(clean_run(paths_, 3, me_, seconds(60)).empty());

    EXPECT_TRUE(std::filesystem::exists(part_file(paths_.run_folder() / ".gone-abc", 0)));
}

/// Whoever goes on with a removal has to know that the process has ended.
TEST_F(CleanTest, RemovesTheOwnersFileLast) {
    static std::vector<std::filesystem::path> removed;
    removed.clear();
    effect_keeper.store([](FileEffect effect) {
        if (effect.kind == FileEffect::Kind::remove) {
            removed.push_back(std::move(effect.path));
        }
    });

    EXPECT_TRUE(clean_run(paths_, 3, me_, seconds(0)).empty());
    effect_keeper.store(nullptr);

    const std::filesystem::path first = paths_.attempt(1);
    std::erase_if(removed, [&](const auto& path) { return path != first && path.parent_path() != first; });
    EXPECT_THAT(removed,
                ElementsAre(part_file(first, 0), journal_file(first), heartbeat_file(first), owner_file(first), first));
}

}  // namespace
}  // namespace sluice::test
