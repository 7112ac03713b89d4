#include "core/commit/place_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/core/commit/commit_fixture.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/fault_injection.hpp"

namespace sluice::test {
namespace {

class PlaceFile : public testing::Test {
protected:
    PlaceFile() {
        std::mt19937_64 random(fresh_seed());
        text_.resize(3'000'000);
        std::generate(text_.begin(), text_.end(), [&] { return static_cast<char>(random()); });
        write_file(from(), text_);
    }
    ~PlaceFile() override { disarm_faults(); }

    [[nodiscard]] std::filesystem::path from() const { return folder_.path() / "from"; }
    [[nodiscard]] std::filesystem::path to() const { return folder_.path() / "to"; }

    TemporaryFolder folder_;
    std::string text_;
};

TEST_F(PlaceFile, LinksIt) {
    EXPECT_EQ(place_file(from(), to(), folder_.path()), Placed::now);

    EXPECT_EQ(std::filesystem::hard_link_count(from()), 2U);
    EXPECT_TRUE(contents(to()) == text_);
}

TEST_F(PlaceFile, NamesWhicheverOfTheTwoIsMissing) {
    const auto missing = [](const std::filesystem::path& one, const std::filesystem::path& other) {
        return error_of([&] { static_cast<void>(link_to(one, other)); }).text().where;
    };
    const std::filesystem::path nowhere = folder_.path() / "none" / "file";

    EXPECT_EQ(missing(from(), nowhere), nowhere);
    EXPECT_EQ(missing(nowhere, to()), nowhere);
    EXPECT_EQ(missing(folder_.path() / "none", to()), folder_.path() / "none");
}

TEST_F(PlaceFile, AcceptsTheSameFile) {
    EXPECT_EQ(place_file(from(), to(), folder_.path()), Placed::now);
    EXPECT_EQ(place_file(from(), to(), folder_.path()), Placed::earlier);
}

TEST_F(PlaceFile, AcceptsAFileWithTheSameBytes) {
    write_file(to(), text_);

    EXPECT_EQ(place_file(from(), to(), folder_.path()), Placed::earlier);
    EXPECT_EQ(std::filesystem::hard_link_count(from()), 1U);
}

TEST_F(PlaceFile, LeavesEveryOtherOneAsItIs) {
    std::string last_differs = text_;
    last_differs.back() = static_cast<char>(~last_differs.back());
    for (const std::string& other :
         {std::string(), std::string("x"), text_.substr(0, text_.size() - 1), text_ + "x", last_differs}) {
        write_file(to(), other);
        EXPECT_EQ(place_file(from(), to(), folder_.path()), Placed::differs);
        EXPECT_EQ(contents(to()), other);
    }
}

TEST_F(PlaceFile, DoesNotTakeAFolderOrALinkForIt) {
    std::filesystem::create_directory(to());
    EXPECT_EQ(place_file(from(), to(), folder_.path()), Placed::differs);
    std::filesystem::remove(to());
    std::filesystem::create_symlink(from(), to());
    EXPECT_EQ(place_file(from(), to(), folder_.path()), Placed::differs);
}

TEST_F(PlaceFile, CopiesItWhereThereAreNoHardLinks) {
    arm_fault("link=errno:EPERM");

    EXPECT_EQ(place_file(from(), to(), folder_.path()), Placed::now);

    EXPECT_TRUE(contents(to()) == text_);
    EXPECT_EQ(std::filesystem::hard_link_count(from()), 1U);
}

// A file system without hard links says EEXIST of a name that is taken, before it says that it has no links.
TEST_F(PlaceFile, AcceptsWhatIsThereWhereThereAreNoHardLinks) {
    write_file(to(), text_);
    arm_fault("renameat2::*=errno:EPERM");

    EXPECT_EQ(place_file(from(), to(), folder_.path()), Placed::earlier);
}

TEST_F(PlaceFile, NeverShowsACopyThatIsNotWhole) {
    for (const char* point : {"open::2", "copy", "fsync", "close", "renameat2"}) {
        arm_fault(fmt::format("link::*=errno:EPERM,{}=errno:ENOSPC", point));
        EXPECT_EQ(code_of([&] { static_cast<void>(place_file(from(), to(), folder_.path())); }), "74 E-IO-002")
            << point;
        EXPECT_FALSE(std::filesystem::exists(to())) << point;
    }
    arm_fault("link::*=errno:EPERM");
    EXPECT_EQ(place_file(from(), to(), folder_.path()), Placed::now) << "what is left of a copy is no obstacle";
    EXPECT_TRUE(contents(to()) == text_);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2);
}

TEST_F(PlaceFile, ReplacesNothingWhereThereAreNoHardLinksEither) {
    for (const char* no_links : {"link::*=errno:EPERM", "link::*=errno:EPERM,renameat2::*=errno:EINVAL"}) {
        write_file(to(), "other");
        arm_fault(no_links);
        EXPECT_EQ(place_file(from(), to(), folder_.path()), Placed::differs);
        EXPECT_EQ(contents(to()), "other");

        std::filesystem::remove(to());
        EXPECT_EQ(place_file(from(), to(), folder_.path()), Placed::now);
        EXPECT_TRUE(contents(to()) == text_);
        std::filesystem::remove(to());
    }
}

TEST_F(PlaceFile, SyncsEqualBytesThatSomebodyElseHasWritten) {
    write_file(to(), text_);
    arm_fault("fsync::1=errno:EIO");

    EXPECT_EQ(code_of([&] { static_cast<void>(place_file(from(), to(), folder_.path())); }), "74 E-IO-003");
}

TEST_F(PlaceFile, CopiesByHandWhereTheFileSystemCannot) {
    for (const char* error : {"EIO", "EINVAL"}) {
        std::filesystem::remove(to());
        const File target = File::create(to());
        arm_fault(fmt::format("copy=errno:{}", error));
        target.copy_at(0, File::open(from()), 0, text_.size());
        EXPECT_TRUE(contents(to()) == text_) << error;
    }
}

TEST_F(PlaceFile, SaysWhichFileCannotBeReadWhenItCopies) {
    const File target = File::create(to());
    arm_fault("copy=errno:EIO,copy.read::2=errno:EIO");
    try {
        target.copy_at(0, File::open(from()), 0, text_.size());
        FAIL() << "nothing was thrown";
    } catch (const UnreadableFile& error) {
        EXPECT_EQ(error.path(), from());
        EXPECT_EQ(error.code(), ExitCode::io_error);
    }
}

TEST_F(PlaceFile, PlacesATextAndLeavesNoOtherFile) {
    EXPECT_EQ(place_text("abc", to(), folder_.path()), Placed::now);
    EXPECT_EQ(place_text("abc", to(), folder_.path()), Placed::earlier);
    EXPECT_EQ(place_text("abcd", to(), folder_.path()), Placed::differs);
    EXPECT_EQ(contents(to()), "abc");

    std::filesystem::remove(to());
    arm_fault("link=errno:EPERM");
    EXPECT_EQ(place_text("abc", to(), folder_.path()), Placed::now);
    arm_fault("link=errno:EPERM");
    EXPECT_EQ(place_text("abx", to(), folder_.path()), Placed::differs);
    EXPECT_EQ(contents(to()), "abc");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2);
}

TEST_F(PlaceFile, HasPlacedATextAlsoWhenItsOtherNameStays) {
    arm_fault("unlink=errno:EIO");

    EXPECT_EQ(place_text("abc", to(), folder_.path()), Placed::now);
}

TEST_F(PlaceFile, LeavesNoSecondNameOfATextThatCannotBePlaced) {
    std::filesystem::remove(from());
    for (const char* const call : {"write", "fsync", "close"}) {
        arm_fault(std::string(call) + "=errno:ENOSPC");

        EXPECT_EQ(code_of([&] { static_cast<void>(place_text("abc", to(), folder_.path())); }), "74 E-IO-002");

        EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << call;
    }
}

}  // namespace
}  // namespace sluice::test
