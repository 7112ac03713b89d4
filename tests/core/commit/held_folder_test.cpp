#include "core/commit/held_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "core/commit/file.hpp"
#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

constexpr uid_t stranger = 4242;

class HeldFolderTest : public testing::Test {
protected:
    HeldFolderTest() {
        fs::create_directories(folder_ / "inner");
        fs::permissions(folder_, fs::perms::owner_all);
        fs::create_directories(other_);
    }

    void put_the_other_in_its_place() const {
        fs::rename(folder_, moved_);
        fs::rename(other_, folder_);
    }

    void put_a_link_in_its_place() const {
        fs::rename(folder_, moved_);
        fs::create_directory_symlink(other_, folder_);
    }

    TemporaryFolder root_;
    fs::path folder_ = root_.path() / "run";
    fs::path other_ = root_.path() / "other";
    fs::path moved_ = root_.path() / "moved";
};

TEST_F(HeldFolderTest, KeepsEveryCallInTheFolderThatWasOpened) {
    write_file(other_ / "precious", "precious");
    fs::create_directories(other_ / "inner");
    const HeldFolder held(folder_, FolderTrust::only_mine);
    put_a_link_in_its_place();

    File::create(folder_ / "created").close();
    write_text_durably(folder_ / "text", "mine");
    static_cast<void>(make_folder(folder_ / "made"));
    EXPECT_EQ(rename_to(folder_ / "created", folder_ / "inner/renamed"), 0);
    EXPECT_EQ(link_to(folder_ / "text", folder_ / "linked"), 0);
    EXPECT_EQ(rename_to_free_name(folder_ / "linked", folder_ / "free"), 0);
    remove_file(folder_ / "precious");
    EXPECT_EQ(remove_empty_folder(folder_ / "made"), 0);
    sync_folder(folder_);
    sync_folder(folder_ / "inner");

    EXPECT_EQ(names_in_folder(folder_), (std::vector<std::string>{"free", "inner", "text"}));
    EXPECT_EQ(read_text(folder_ / "text", 100), "mine");
    EXPECT_FALSE(status_of(folder_ / "precious"));
    EXPECT_TRUE(fs::exists(moved_ / "inner/renamed"));
    EXPECT_EQ(contents(other_ / "precious"), "precious");
    EXPECT_TRUE(fs::is_empty(other_ / "inner"));
}

TEST_F(HeldFolderTest, LeavesOtherPathsAlone) {
    const HeldFolder held(folder_, FolderTrust::only_mine);

    File::create(folder_.native() + "-beside").close();
    File::create(root_.path() / "above").close();

    EXPECT_TRUE(fs::exists(folder_.native() + "-beside"));
    EXPECT_TRUE(fs::exists(root_.path() / "above"));
}

TEST_F(HeldFolderTest, KnowsWhetherItIsStillInPlace) {
    EXPECT_TRUE(is_in_place(folder_));
    const HeldFolder held(folder_, FolderTrust::only_mine);
    EXPECT_TRUE(is_in_place(folder_));

    put_the_other_in_its_place();
    EXPECT_FALSE(is_in_place(folder_)) << "another folder has its name";
    fs::remove_all(folder_);
    EXPECT_FALSE(is_in_place(folder_));
    fs::rename(moved_, folder_);
    EXPECT_TRUE(is_in_place(folder_));
}

TEST_F(HeldFolderTest, IsTheSameFolderWhenItIsHeldAgain) {
    std::optional<HeldFolder> first(std::in_place, folder_, FolderTrust::only_mine);
    put_the_other_in_its_place();
    const HeldFolder second(folder_, FolderTrust::only_mine);
    first.reset();

    File::create(folder_ / "file").close();

    EXPECT_TRUE(fs::exists(moved_ / "file"));
}

TEST_F(HeldFolderTest, IsItsPathAgainWhenNobodyHoldsIt) {
    std::optional<HeldFolder> held(std::in_place, folder_, FolderTrust::only_mine);
    put_the_other_in_its_place();

    held.reset();
    File::create(folder_ / "file").close();

    EXPECT_TRUE(fs::exists(folder_ / "file"));
    EXPECT_FALSE(fs::exists(moved_ / "file"));
}

TEST_F(HeldFolderTest, RefusesWhatIsNotMineAlone) {
    const auto hold = [&](FolderTrust trust) { return code_of([&] { HeldFolder(folder_, trust); }); };

    for (const mode_t mode : {0770, 0702, 0777}) {
        ASSERT_EQ(::chmod(folder_.c_str(), mode), 0);
        EXPECT_EQ(hold(FolderTrust::only_mine), "77 E-SEC-020") << mode;
        EXPECT_EQ(hold(FolderTrust::mine), "none");
    }
    ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
    EXPECT_EQ(hold(FolderTrust::only_mine), "none");
    put_a_link_in_its_place();
    EXPECT_EQ(hold(FolderTrust::only_mine), "77 E-SEC-020");
    EXPECT_EQ(hold(FolderTrust::mine), "77 E-SEC-020");
    fs::remove(folder_);
    write_file(folder_, "a file");
    EXPECT_EQ(hold(FolderTrust::mine), "77 E-SEC-020");
}

TEST_F(HeldFolderTest, RefusesAnotherUsers) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can give a folder away";
    }
    ASSERT_EQ(::chown(folder_.c_str(), stranger, stranger), 0);

    EXPECT_EQ(code_of([&] { HeldFolder(folder_, FolderTrust::only_mine); }), "77 E-SEC-020");
    EXPECT_EQ(code_of([&] { HeldFolder(folder_, FolderTrust::mine); }), "77 E-SEC-020");
    EXPECT_EQ(HeldFolder(folder_, FolderTrust::any).owner(), stranger);
}

TEST_F(HeldFolderTest, TrustsControlFilesOfMineAndOfAFoldersOwnerWhoIsReadAfter) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can give a file away";
    }
    write_file(folder_ / "file", "text");
    ASSERT_EQ(::chown((folder_ / "file").c_str(), stranger, stranger), 0);
    const auto read = [&] { return code_of([&] { static_cast<void>(read_text(folder_ / "file", 100)); }); };

    EXPECT_EQ(read(), "77 E-SEC-118");
    {
        const HeldFolder mine(folder_, FolderTrust::any);
        EXPECT_EQ(read(), "77 E-SEC-118");
    }
    ASSERT_EQ(::chown(folder_.c_str(), stranger, stranger), 0);
    const HeldFolder theirs(folder_, FolderTrust::any);
    EXPECT_EQ(read(), "none");
}

TEST_F(HeldFolderTest, ReadsRegularFilesAloneAndWaitsForNothing) {
    ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    fs::create_symlink("text", folder_ / "link");
    write_file(folder_ / "text", "text");

    for (const char* name : {"pipe", "link", "inner"}) {
        EXPECT_EQ(code_of([&] { static_cast<void>(read_text(folder_ / name, 100)); }), "77 E-SEC-118") << name;
    }
    EXPECT_EQ(code_of([&] { static_cast<void>(read_text("/dev/zero", 100)); }), "77 E-SEC-118");
}

}  // namespace
}  // namespace sluice::test
