#include "core/input/watched_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "core/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t sampled_in_part = 300'000;  // more than 64 blocks of 4 KiB

class WatchedFileTest : public testing::Test {
protected:
    [[nodiscard]] std::filesystem::path write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_.path() / name, std::ios::binary) << text;
        return folder_.path() / name;
    }

    /// Over the file's own bytes, with its time as it was.
    static void rewrite(const std::filesystem::path& path, std::size_t at, const std::string& text) {
        const auto time = std::filesystem::last_write_time(path);
        {
            std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(static_cast<std::streamoff>(at));
            file << text;
        }
        std::filesystem::last_write_time(path, time);
    }

    TemporaryFolder folder_;
};

WatchedFile open_watched(const std::filesystem::path& path) {
    return {Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path};
}

std::string stamp_of(const std::filesystem::path& path) {
    return open_watched(path).stamp();
}

TEST(IsSettled, WhenTheNextChangeLeavesAnotherTime) {
    const auto settled = [](const timespec& last_change, const timespec& now) { return is_settled(last_change, now); };
    constexpr timespec fine{.tv_sec = 100, .tv_nsec = 4'000'000};
    EXPECT_FALSE(settled(fine, fine));
    EXPECT_TRUE(settled(fine, {.tv_sec = 100, .tv_nsec = 4'000'001}));
    EXPECT_FALSE(settled(fine, {.tv_sec = 99, .tv_nsec = 999'000'000})) << "a tick may be 10 ms";
    EXPECT_TRUE(settled(fine, {.tv_sec = 99, .tv_nsec = 0})) << "of another clock";

    constexpr timespec whole{.tv_sec = 100, .tv_nsec = 0};
    EXPECT_FALSE(settled(whole, whole));
    EXPECT_FALSE(settled(whole, {.tv_sec = 100, .tv_nsec = 999'999'999}));
    EXPECT_TRUE(settled(whole, {.tv_sec = 101, .tv_nsec = 0}));
}

TEST_F(WatchedFileTest, KnowsACopyByItsContent) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{12}, sampled_in_part}) {
        const std::filesystem::path file = write("a", std::string(size, 'x'));
        const std::string stamp = stamp_of(file);
        std::filesystem::copy_file(file, folder_.path() / "b", std::filesystem::copy_options::overwrite_existing);
        std::filesystem::last_write_time(folder_.path() / "b",
                                         std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));

        EXPECT_EQ(stamp_of(folder_.path() / "b"), stamp);
        EXPECT_THAT(stamp, HasSubstr(std::to_string(size) + " bytes, XXH3 "));
    }
}

TEST_F(WatchedFileTest, TellsContentsOfOneSizeAndTimeApart) {
    const std::filesystem::path a = write("a", "one\n");
    const std::filesystem::path b = write("b", "two\n");
    std::filesystem::last_write_time(b, std::filesystem::last_write_time(a));

    EXPECT_NE(stamp_of(a), stamp_of(b));
}

TEST_F(WatchedFileTest, SamplesBothEndsAndBlocksBetweenOfALargeFile) {
    const std::string text(sampled_in_part, 'x');
    const std::string stamp = stamp_of(write("a", text));

    EXPECT_THAT(stamp, HasSubstr("300000 bytes, XXH3 of 64 blocks "));
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{4095}, std::size_t{150'000}, sampled_in_part - 4096, sampled_in_part - 1}) {
        std::string other = text;
        other[at] = 'y';
        EXPECT_NE(stamp_of(write("a", other)), stamp) << at;
    }
}

TEST_F(WatchedFileTest, SeesARewriteWhoseTimeIsSetBack) {
    for (const std::size_t size : {std::size_t{1000}, sampled_in_part}) {
        const std::filesystem::path path = write("a", std::string(size, 'x'));
        const WatchedFile watched = open_watched(path);
        EXPECT_EQ(watched.change(), "");

        rewrite(path, 10, "other");

        EXPECT_THAT(watched.change(), HasSubstr("changed while running"));
        EXPECT_THAT(watched.change_of_content(), HasSubstr("changed while running"));
    }
}

TEST_F(WatchedFileTest, OpensAFileThatIsWrittenAllTheTime) {
    const std::filesystem::path path = write("a", std::string(sampled_in_part, 'x'));
    std::atomic<bool> has_begun{false};
    std::jthread writer([&](const std::stop_token& stop) {
        const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        while (!stop.stop_requested()) {
            EXPECT_EQ(::pwrite(file.number(), "x", 1, 0), 1);
            has_begun = true;
            has_begun.notify_one();
        }
    });
    has_begun.wait(false);

    const WatchedFile watched = open_watched(path);

    writer = {};
    EXPECT_EQ(watched.stamp(), stamp_of(path));
    rewrite(path, 10, "other");
    EXPECT_THAT(watched.change(), HasSubstr("changed while running"));
}

TEST_F(WatchedFileTest, SeesAFileCutShortOrGrown) {
    const std::filesystem::path path = write("a", "one\ntwo\n");
    const WatchedFile watched = open_watched(path);

    std::filesystem::resize_file(path, 4);
    EXPECT_EQ(watched.change(), "truncated while running (got 4 bytes, expected 8 as when it was opened)");
    std::filesystem::resize_file(path, 9);
    EXPECT_EQ(watched.change(), "changed while running (got 9 bytes, expected 8 as when it was opened)");
}

TEST_F(WatchedFileTest, LetsAFileBeLinkedAndMoved) {
    const std::filesystem::path path = write("a", std::string(sampled_in_part, 'x'));
    const WatchedFile watched = open_watched(path);

    std::filesystem::create_hard_link(path, folder_.path() / "b");
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    std::filesystem::rename(path, folder_.path() / "c");

    EXPECT_EQ(watched.change(), "");
    EXPECT_EQ(watched.change_of_content(), "");
}

TEST_F(WatchedFileTest, TakesNothingThatCannotBeOpenedForAnotherFile) {
    const std::filesystem::path path = write("a", "abc");
    const WatchedFile watched = open_watched(path);

    std::filesystem::remove(path);
    EXPECT_EQ(watched.change_of_content(), "");
    std::filesystem::create_symlink(path, path);  // ELOOP, as EACCES for a path that was closed to this user
    EXPECT_EQ(watched.change_of_content(), "");
}

TEST_F(WatchedFileTest, ComparesTheContentOfAFileThatTakesItsPlace) {
    const std::filesystem::path path = write("a", "one\n");
    const WatchedFile watched = open_watched(path);

    std::filesystem::rename(write("same", "one\n"), path);
    EXPECT_EQ(watched.change(), "");
    EXPECT_EQ(watched.change_of_content(), "");

    std::filesystem::rename(write("other", "two\n"), path);
    EXPECT_EQ(watched.change(), "");
    EXPECT_THAT(watched.change_of_content(), HasSubstr("replaced while running by another file (was 4 bytes, XXH3 "));

    std::filesystem::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(watched.change_of_content(), "replaced while running by something that is not a file");
}

}  // namespace
}  // namespace sluice::test
