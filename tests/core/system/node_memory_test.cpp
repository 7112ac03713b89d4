#include "core/system/node_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>

#include "core/system/descriptor.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

constexpr std::size_t size = 10'001;

bool all_are(std::span<const std::byte> bytes, std::byte value) {
    return std::ranges::all_of(bytes, [value](std::byte b) { return b == value; });
}

TEST(NodeMemory, IsZeroAndAsLargeAsAsked) {
    const NodeMemory own = NodeMemory::of_process(size);
    const NodeMemory shared = NodeMemory::for_node(size);

    EXPECT_EQ(own.bytes().size(), size);
    EXPECT_TRUE(all_are(own.bytes(), std::byte{0}));
    EXPECT_EQ(shared.bytes().size(), size);
    EXPECT_TRUE(all_are(shared.bytes(), std::byte{0}));
    EXPECT_TRUE(NodeMemory::of_process(0).bytes().empty());
    EXPECT_TRUE(NodeMemory::for_node(0).bytes().empty());
}

TEST(NodeMemory, IsTheSameForAllWhoMapIt) {
    const NodeMemory mine = NodeMemory::for_node(size);
    const auto other = NodeMemory::map(mine.ticket().value());
    ASSERT_TRUE(other.has_value());

    std::ranges::fill(other->bytes(), std::byte{7});

    EXPECT_NE(other->bytes().data(), mine.bytes().data());
    EXPECT_TRUE(all_are(mine.bytes(), std::byte{7}));
}

/// Whether this process can write there.
bool is_writable(std::span<std::byte> bytes) {
    const Descriptor zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
    return ::read(zeros.number(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
}

TEST(NodeMemory, CanBeMadeReadOnlyForOneOfThoseWhoMapIt) {
    const NodeMemory mine = NodeMemory::for_node(size);
    std::optional<NodeMemory> other = NodeMemory::map(mine.ticket().value());
    ASSERT_TRUE(other.has_value());
    NodeMemory empty;

    other->make_read_only();
    empty.make_read_only();

    EXPECT_FALSE(is_writable(other->bytes()));
    EXPECT_TRUE(is_writable(mine.bytes()));
    std::ranges::fill(mine.bytes(), std::byte{7});
    EXPECT_TRUE(all_are(other->bytes(), std::byte{7}));
}

TEST(NodeMemory, OutlivesItsOwnerWhereItIsMapped) {
    std::optional<NodeMemory> other;
    {
        const NodeMemory mine = NodeMemory::for_node(size);
        std::ranges::fill(mine.bytes(), std::byte{7});
        other = NodeMemory::map(mine.ticket().value());
    }

    ASSERT_TRUE(other.has_value());
    EXPECT_TRUE(all_are(other->bytes(), std::byte{7}));
}

TEST(NodeMemory, CanBeMovedAndKeepsItsBytes) {
    NodeMemory from = NodeMemory::for_node(size);
    from.bytes()[3] = std::byte{9};
    NodeMemory to = NodeMemory::of_process(1);

    to = std::move(from);
    const NodeMemory last = std::move(to);

    EXPECT_EQ(last.bytes().size(), size);
    EXPECT_EQ(last.bytes()[3], std::byte{9});
    EXPECT_TRUE(last.ticket().has_value());
}

TEST(NodeMemory, IsNotMappedByTheTicketOfAnother) {
    const NodeMemory mine = NodeMemory::for_node(size);
    const NodeMemory::Ticket good = mine.ticket().value();
    NodeMemory::Ticket other_inode = good;
    ++other_inode.inode;
    NodeMemory::Ticket other_size = good;
    ++other_size.bytes;
    NodeMemory::Ticket closed = good;
    closed.file = 1'000'000;

    EXPECT_TRUE(NodeMemory::map(good).has_value());
    EXPECT_FALSE(NodeMemory::map(other_inode).has_value());
    EXPECT_FALSE(NodeMemory::map(other_size).has_value());
    EXPECT_FALSE(NodeMemory::map(closed).has_value());
    EXPECT_FALSE(NodeMemory::of_process(size).ticket().has_value());
}

/// In another PID namespace the number may be another process's, and its file a pipe at which somebody waits.
TEST(NodeMemory, LeavesAStrangersFileAlone) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder.path() / "pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const Descriptor pipe(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    const Descriptor events(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    ASSERT_GE(::inotify_add_watch(events.number(), path.c_str(), IN_OPEN), 0);
    const NodeMemory mine = NodeMemory::for_node(size);
    NodeMemory::Ticket ticket = mine.ticket().value();
    ticket.file = pipe.number();

    EXPECT_FALSE(NodeMemory::map(ticket).has_value());

    std::array<char, 256> event{};
    EXPECT_EQ(::read(events.number(), event.data(), event.size()), -1);
}

constexpr int cannot_try = 77;

/// As if the system counted memory strictly, for this process alone.
bool pretend_strict_overcommit(const std::filesystem::path& mode) {
    const bool apart = ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    return apart && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount(mode.c_str(), "/proc/sys/vm/overcommit_memory", nullptr, MS_BIND, nullptr) == 0;
}

/// Exits with 0 if all pages of the memory are there before they are touched.
[[noreturn]] void reserve_pages(const std::filesystem::path& mode) {
    if (!pretend_strict_overcommit(mode)) {
        std::_Exit(cannot_try);
    }
    const NodeMemory memory = NodeMemory::for_node(size);
    struct stat status {};
    const bool known = ::fstat(static_cast<int>(memory.ticket().value().file), &status) == 0;
    std::_Exit(known && static_cast<std::size_t>(status.st_blocks) * 512 >= size ? 0 : 1);
}

TEST(NodeMemoryDeathTest, ReservesItsPagesWhereTheSystemCountsThemStrictly) {
    const TemporaryFolder folder;
    const std::filesystem::path mode = folder.path() / "mode";
    test::write_file(mode, "2\n");
    int code = cannot_try;

    EXPECT_EXIT(
        reserve_pages(mode),
        [&code](int status) {
            code = WEXITSTATUS(status);
            return WIFEXITED(status);
        },
        "");

    if (code == cannot_try) {
        GTEST_SKIP() << "no mount namespace can be made here";
    }
    EXPECT_EQ(code, 0);
}

TEST(NodeMemoryDeathTest, IsOfTheProcessAloneUnderALimitOnFileSizes) {
    const auto with_limit = [] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{4096, 4096};
        setrlimit(RLIMIT_FSIZE, &limit);
        const NodeMemory memory = NodeMemory::for_node(size);
        std::ranges::fill(memory.bytes(), std::byte{7});
        std::_Exit(memory.bytes().size() == size && !memory.ticket() ? 0 : 1);
    };

    EXPECT_EXIT(with_limit(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice
