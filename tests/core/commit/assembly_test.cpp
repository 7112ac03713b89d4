#include "core/commit/assembly.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <thread>

#include "tests/core/commit/commit_fixture.hpp"
#include "tests/support/fault_injection.hpp"

namespace sluice::test {
namespace {

std::uint64_t plenty() {
    return std::numeric_limits<std::uint64_t>::max();
}

class AssemblyTest : public testing::Test {
protected:
    ~AssemblyTest() override { disarm_faults(); }

    /// A part of random bytes, which are appended to all().
    std::filesystem::path part(std::size_t bytes) {
        const std::filesystem::path path = folder_.path() / fmt::format("{}.bin", parts_++);
        std::string text(bytes, ' ');
        std::ranges::generate(text, [this] { return static_cast<char>(random_()); });
        write_file(path, text);
        all_ += text;
        return path;
    }
    [[nodiscard]] const std::string& all() const { return all_; }
    [[nodiscard]] std::filesystem::path whole() const { return folder_.path() / "whole.bin"; }

private:
    TemporaryFolder folder_;
    std::mt19937_64 random_{fresh_seed()};
    int parts_ = 0;
    std::string all_;
};

TEST_F(AssemblyTest, HoldsAllPartsInTheirOrder) {
    Assembly assembly(whole(), plenty);
    for (const std::size_t bytes : {std::size_t{1000}, (std::size_t{20} << 20) + 1, std::size_t{0}, std::size_t{7}}) {
        const std::filesystem::path next = part(bytes);
        assembly.add(next, bytes);
    }

    EXPECT_EQ(assembly.finish(), whole());

    EXPECT_TRUE(contents(whole()) == all());
}

TEST_F(AssemblyTest, CopiesAPartBeforeTheNextOneIsThere) {
    Assembly assembly(whole(), plenty);
    assembly.add(part(1000), 1000);
    while (std::filesystem::file_size(whole()) < 1000) {  // ends when it is copied, or with the test's time limit
        std::this_thread::yield();
    }
    assembly.add(part(10), 10);

    EXPECT_EQ(assembly.finish(), whole());

    EXPECT_TRUE(contents(whole()) == all());
}

TEST_F(AssemblyTest, LeavesShortSpaceToThePartsToCome) {
    std::atomic<int> asked = 0;
    Assembly assembly(whole(), [&asked] {
        ++asked;
        return 3999;
    });
    assembly.add(part(1000), 1000);
    while (asked == 0) {
        std::this_thread::yield();
    }
    EXPECT_EQ(std::filesystem::file_size(whole()), 0U);

    EXPECT_EQ(assembly.finish(), whole());

    EXPECT_TRUE(contents(whole()) == all());
}

TEST_F(AssemblyTest, LeavesNoFileThatIsNotFinished) {
    {
        Assembly assembly(whole(), plenty);
        assembly.add(part(1000), 1000);
    }
    EXPECT_FALSE(std::filesystem::exists(whole()));
    {
        Assembly assembly(whole(), plenty);
        EXPECT_EQ(assembly.finish(), whole());
    }
    EXPECT_EQ(contents(whole()), "");
}

TEST_F(AssemblyTest, TellsAtTheEndWhatFailed) {
    {
        Assembly assembly(whole(), plenty);
        assembly.add(part(10), 10);
        assembly.add(whole().parent_path() / "missing", 10);
        assembly.add(part(10), 10);
        EXPECT_EQ(code_of([&] { static_cast<void>(assembly.finish()); }), "73 E-OUT-021");
    }
    EXPECT_FALSE(std::filesystem::exists(whole()));

    arm_fault("copy=errno:ENOSPC");
    Assembly assembly(whole(), plenty);
    assembly.add(part(10), 10);
    EXPECT_EQ(code_of([&] { static_cast<void>(assembly.finish()); }), "74 E-IO-002");
}

TEST_F(AssemblyTest, ReplacesNoFile) {
    write_file(whole(), "mine");

    EXPECT_THROW(Assembly(whole(), plenty), Error);

    EXPECT_EQ(contents(whole()), "mine");
}

}  // namespace
}  // namespace sluice::test
