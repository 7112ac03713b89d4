#include "core/system/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace sluice::test {
namespace {

class DescriptorTest : public testing::Test {
protected:
    [[nodiscard]] Descriptor open(const std::string& text) const {
        const std::filesystem::path path = folder_.path() / "file";
        std::ofstream(path) << text;
        return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    }

    TemporaryFolder folder_;
};

bool is_open(int number) {
    return ::fcntl(number, F_GETFD) >= 0;
}

TEST_F(DescriptorTest, ReadsWhatThereIs) {
    const Descriptor file = open("0123456789");
    std::array<char, 4> text{};

    const auto whole = file.read_at(2, std::as_writable_bytes(std::span(text)));

    EXPECT_EQ(whole.bytes, 4U);
    EXPECT_EQ(whole.error, 0);
    EXPECT_EQ(std::string(text.data(), text.size()), "2345");
    EXPECT_EQ(file.read_at(8, std::as_writable_bytes(std::span(text))).bytes, 2U);
}

TEST_F(DescriptorTest, TellsWhyItCannotRead) {
    std::array<std::byte, 1> byte{};

    EXPECT_EQ(Descriptor().read_at(0, byte).error, EBADF);
}

TEST_F(DescriptorTest, ClosesItsFileOnce) {
    Descriptor from = open("");
    const int number = from.number();
    {
        Descriptor to;
        to = std::move(from);
        EXPECT_EQ(to.number(), number);
        EXPECT_TRUE(is_open(number));
    }

    EXPECT_FALSE(is_open(number));
    EXPECT_EQ(Descriptor().close(), 0);
}

TEST_F(DescriptorTest, WritesAllOrTellsWhyNot) {
    const std::filesystem::path path = folder_.path() / "written";
    const std::string text(100'000, 'x');
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));

    EXPECT_EQ(write_all(file.number(), std::as_bytes(std::span(text))), 0);
    EXPECT_EQ(std::filesystem::file_size(path), text.size());
    EXPECT_EQ(write_all(-1, std::as_bytes(std::span(text))), EBADF);
}

}  // namespace
}  // namespace sluice::test
