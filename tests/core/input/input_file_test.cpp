#include "core/input/input_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/core/input/io_fixture.hpp"
#include "tests/support/without_descriptors.hpp"

namespace sluice::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr uid_t nobody = 65534;

class InputFileTest : public IoTest {
protected:
    [[nodiscard]] static std::string failure(const std::filesystem::path& path) {
        return summary_of(error_of([&] { const InputFile file(path); }));
    }
};

TEST_F(InputFileTest, MustExist) {
    EXPECT_EQ(failure(folder() / "none.csv"), "66 E-INP-028 none.csv: cannot open: No such file or directory");
    EXPECT_EQ(failure(write("a", "") / "below"), "66 E-INP-028 below: cannot open: Not a directory");
    EXPECT_THAT(failure(folder() / std::string(300, 'x')),
                AllOf(StartsWith("66 E-INP-028 "), EndsWith("xxx: cannot open: File name too long")));
    EXPECT_EQ(failure(""), "66 E-INP-028 : cannot open: No such file or directory");
}

TEST_F(InputFileTest, IsARegularFile) {
    ASSERT_EQ(::mkfifo((folder() / "pipe").c_str(), 0600), 0);

    EXPECT_THAT(failure(folder()), EndsWith(": not a regular file (got a folder, expected a file)"));
    EXPECT_EQ(failure(folder() / "pipe"), "66 E-INP-028 pipe: not a regular file (got a pipe, expected a file)");
    EXPECT_EQ(failure("/dev/zero"), "66 E-INP-028 zero: not a regular file (got a device, expected a file)");
}

TEST_F(InputFileTest, MayBeReachedThroughALink) {
    std::filesystem::create_symlink(write("target", "abc"), folder() / "link");

    EXPECT_EQ(InputFile(folder() / "link").size(), 3U);
}

TEST_F(InputFileTest, MayNotHaveANulByteInItsName) {
    EXPECT_EQ(failure(folder() / std::string("a\0b", 3)), "66 E-INP-028 a\\x00b: cannot open: the path has a NUL byte");
}

TEST_F(InputFileTest, MustBeReadable) {
    const std::filesystem::path path = write("secret", "abc");
    ASSERT_EQ(::chmod(path.c_str(), 0), 0);
    const auto open_as_nobody = [&] {
        if (::geteuid() == 0 && (::chmod(folder().c_str(), 0755) != 0 || ::setuid(nobody) != 0)) {
            ::_exit(1);
        }
        try {
            const InputFile file(path);
        } catch (const Error& error) {
            ::_exit(error.text().what == "cannot open: Permission denied" ? static_cast<int>(error.code()) : 2);
        }
        ::_exit(0);
    };

    EXPECT_EXIT(open_as_nobody(), testing::ExitedWithCode(66), "");
}

TEST_F(InputFileTest, ReportsTheLimitOfOpenFiles) {
    const std::filesystem::path path = write("a", "abc");

    EXPECT_EXIT(exit_without_descriptors([&] { const InputFile file(path); }), testing::ExitedWithCode(71), "E-IO-005");
}

TEST_F(InputFileTest, EscapesItsNameInMessages) {
    EXPECT_EQ(failure(folder() / "a\x1b[31m\n.csv"),
              "66 E-INP-028 a\\x1b[31m\\x0a.csv: cannot open: No such file or directory");
}

TEST_F(InputFileTest, ReadsAnyPart) {
    const InputFile file(write("a", "abcdef"));
    std::string part(3, ' ');

    file.read(2, std::as_writable_bytes(std::span(part)));
    EXPECT_EQ(part, "cde");

    EXPECT_THROW(file.read(4, std::as_writable_bytes(std::span(part))), ContractViolation);
    EXPECT_NO_THROW(file.read(6, {}));
}

TEST_F(InputFileTest, TellsTheSizeThatItWasTruncatedTo) {
    const std::filesystem::path path = write("a", "abcdef");
    const InputFile file(path);
    std::string part(2, ' ');

    std::filesystem::resize_file(path, 1);

    EXPECT_EQ(summary_of(error_of([&] { file.read(4, std::as_writable_bytes(std::span(part))); })),
              "65 E-INP-034 a: truncated while running (got 1 bytes, expected 6 as when it was opened)");
}

TEST_F(InputFileTest, NamesThePackingOfAFile) {
    EXPECT_EQ(compression_of(InputFile(write("a", "\x1f\x8b"))), "gzip");
    EXPECT_EQ(compression_of(InputFile(write("b", "\x28\xb5\x2f\xfdxx"))), "Zstandard");
    EXPECT_EQ(compression_of(InputFile(write("c", "PK\x03\x04"))), "zip");
    EXPECT_EQ(compression_of(InputFile(write("d", std::string("\xfd"
                                                              "7zXZ\0",
                                                              6)))),
              "xz");
    EXPECT_EQ(compression_of(InputFile(write("e", "\x1f"))), "");
    EXPECT_EQ(compression_of(InputFile(write("f", ""))), "");
}

}  // namespace
}  // namespace sluice::test
