#include "core/files/opened_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

class OpenFile : public testing::Test {
protected:
    [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }

    TemporaryFolder folder_;
};

TEST_F(OpenFile, GivesARegularFileWithItsStatus) {
    test::write_file(path("text"), "abc");

    const OpenedFile opened = open_file(path("text"));

    EXPECT_TRUE(opened.is_regular());
    EXPECT_FALSE(opened.is_folder());
    EXPECT_GE(opened.file.number(), 0);
    EXPECT_EQ(opened.status.st_size, 3);
}

TEST_F(OpenFile, SaysWhyAPathCannotBeReadWithoutWaitingForAPipesWriter) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);

    EXPECT_EQ(open_file(path("nothing")).error, ENOENT);
    EXPECT_EQ(open_file(path("nothing")).problem(), "cannot open: No such file or directory");
    EXPECT_FALSE(open_file(path("nothing")).is_regular());
    EXPECT_EQ(open_file(path("pipe")).problem(), "not a regular file (got a pipe, expected a file)");
    EXPECT_FALSE(open_file(path("pipe")).is_folder());
    EXPECT_EQ(open_file(path("")).problem(), "not a regular file (got a folder, expected a file)");
    EXPECT_TRUE(open_file(path("")).is_folder());
    EXPECT_FALSE(open_file(path("")).is_regular());
}

}  // namespace
}  // namespace sluice
