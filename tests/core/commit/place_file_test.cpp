#include "core/commit/place_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/fault_injection.hpp"
#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

class PlaceFile : public testing::Test {
protected:
    PlaceFile() {
        std::mt19937_64 random(fresh_seed());
        text_.resize(3'000'000);
        std::generate(text_.begin(), text_.end(), [&] { return static_cast<char>(random()); });
        write_contents(from(), text_);
    }
    ~PlaceFile() override { arm_fault("seal::1000000=kill"); }

    [[nodiscard]] std::filesystem::path from() const { return folder_.path() / "from"; }
    [[nodiscard]] std::filesystem::path to() const { return folder_.path() / "to"; }

    TemporaryFolder folder_;
    std::string text_;
};

TEST_F(PlaceFile, LinksIt) {
    EXPECT_EQ(place_file(from(), to()), Placed::now);

    EXPECT_EQ(std::filesystem::hard_link_count(from()), 2U);
    EXPECT_EQ(contents_of(to()), text_);
}

TEST_F(PlaceFile, AcceptsTheSameFile) {
    EXPECT_EQ(place_file(from(), to()), Placed::now);
    EXPECT_EQ(place_file(from(), to()), Placed::earlier);
}

TEST_F(PlaceFile, AcceptsAFileWithTheSameBytes) {
    write_contents(to(), text_);

    EXPECT_EQ(place_file(from(), to()), Placed::earlier);
    EXPECT_EQ(std::filesystem::hard_link_count(from()), 1U);
}

TEST_F(PlaceFile, LeavesEveryOtherOneAsItIs) {
    std::string last_differs = text_;
    last_differs.back() = static_cast<char>(~last_differs.back());
    for (const std::string& other :
         {std::string(), std::string("x"), text_.substr(0, text_.size() - 1), text_ + "x", last_differs}) {
        write_contents(to(), other);
        EXPECT_EQ(place_file(from(), to()), Placed::differs);
        EXPECT_EQ(contents_of(to()), other);
    }
}

TEST_F(PlaceFile, DoesNotTakeAFolderOrALinkForIt) {
    std::filesystem::create_directory(to());
    EXPECT_EQ(place_file(from(), to()), Placed::differs);
    std::filesystem::remove(to());
    std::filesystem::create_symlink(from(), to());
    EXPECT_EQ(place_file(from(), to()), Placed::differs);
}

TEST_F(PlaceFile, CopiesItWhereThereAreNoHardLinks) {
    arm_fault("link=errno:EPERM");

    EXPECT_EQ(place_file(from(), to()), Placed::now);

    EXPECT_EQ(contents_of(to()), text_);
    EXPECT_EQ(std::filesystem::hard_link_count(from()), 1U);
}

TEST_F(PlaceFile, CompletesACopyThatWasCutShort) {
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 20, text_.size() - 1}) {
        write_contents(to(), text_.substr(0, length));
        arm_fault("link=errno:EPERM");

        EXPECT_EQ(place_file(from(), to()), Placed::earlier) << length;

        EXPECT_EQ(contents_of(to()), text_);
    }
}

TEST_F(PlaceFile, CompletesNothingElse) {
    std::string other = text_.substr(0, 100);
    other.front() = static_cast<char>(~other.front());
    write_contents(to(), other);
    arm_fault("link=errno:EPERM");

    EXPECT_EQ(place_file(from(), to()), Placed::differs);

    EXPECT_EQ(contents_of(to()), other);
}

TEST_F(PlaceFile, CopiesByHandWhereTheFileSystemCannot) {
    for (const char* fault : {"copy::1=errno:EIO", "write::1=errno:ENOSPC"}) {
        std::filesystem::remove(to());
        const File target = File::create(to());
        arm_fault(fault);
        target.copy_at(0, File::open(from()), 0);
    }
    std::filesystem::remove(to());
    const File target = File::create(to());
    arm_fault("copy=errno:EIO");
    EXPECT_EQ(code_of([&] { target.copy_at(0, File::open(from()), text_.size()); }), "74 E-IO-003");
}

TEST_F(PlaceFile, PlacesATextAndLeavesNoOtherFile) {
    EXPECT_EQ(place_text("abc", to(), folder_.path()), Placed::now);
    EXPECT_EQ(place_text("abc", to(), folder_.path()), Placed::earlier);
    EXPECT_EQ(place_text("abcd", to(), folder_.path()), Placed::differs);
    EXPECT_EQ(contents_of(to()), "abc");

    std::filesystem::remove(to());
    arm_fault("link=errno:EPERM");
    EXPECT_EQ(place_text("abc", to(), folder_.path()), Placed::now);
    arm_fault("link=errno:EPERM");
    EXPECT_EQ(place_text("abx", to(), folder_.path()), Placed::differs);
    EXPECT_EQ(contents_of(to()), "abc");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2);
}

}  // namespace
}  // namespace sluice::test
