#include "core/buffer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <type_traits>
#include <utility>

namespace sluice {
namespace {

std::array<std::byte, 16> memory;

Buffer counted(int& released) {
    return {memory, MemorySpace::pinned, &released, [](void* owner, std::span<std::byte> bytes) noexcept {
                *static_cast<int*>(owner) += bytes.data() == memory.data() ? 1 : 1000;
            }};
}

static_assert(!std::is_copy_constructible_v<Buffer> && !std::is_copy_assignable_v<Buffer>);

TEST(Buffer, IsEmptyByDefaultAndFreesNothing) {
    const Buffer buffer;

    EXPECT_TRUE(buffer.bytes().empty());
}

TEST(Buffer, FreesItselfOnce) {
    int released = 0;
    { const Buffer buffer = counted(released); }

    EXPECT_EQ(released, 1);
}

TEST(Buffer, MovesWithoutFreeing) {
    int released = 0;
    {
        Buffer first = counted(released);
        const Buffer second(std::move(first));

        EXPECT_EQ(released, 0);
        EXPECT_EQ(second.bytes().data(), memory.data());
        EXPECT_EQ(second.space(), MemorySpace::pinned);
        EXPECT_TRUE(first.bytes().empty());  // NOLINT(bugprone-use-after-move): what a moved-from buffer promises
    }

    EXPECT_EQ(released, 1);
}

TEST(Buffer, FreesWhatItHeldWhenAnotherIsAssigned) {
    int old_released = 0;
    int new_released = 0;
    {
        Buffer buffer = counted(old_released);
        buffer = counted(new_released);

        EXPECT_EQ(old_released, 1);
        EXPECT_EQ(new_released, 0);
    }

    EXPECT_EQ(old_released, 1);
    EXPECT_EQ(new_released, 1);
}

TEST(Buffer, ShowsItsBytesAsTypedValues) {
    int released = 0;
    const Buffer buffer = counted(released);

    EXPECT_EQ(buffer.as<std::uint32_t>().size(), 4U);
}

}  // namespace
}  // namespace sluice
