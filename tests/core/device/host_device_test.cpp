#include "core/device/host_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "core/device/host_stream.hpp"
#include "core/error.hpp"
#include "tests/support/error_of.hpp"

// A sanitizer ends a program that asks for too much, unless told to answer as the C library does.
extern "C" const char* __asan_default_options() {
    return "allocator_may_return_null=1";
}
extern "C" const char* __tsan_default_options() {
    return "allocator_may_return_null=1";
}

namespace sluice {
namespace {

TEST(HostDevice, IsNamedByItsNumberAndRings) {
    const HostDevice device(3);

    EXPECT_EQ(device.name(), "host:3");
    EXPECT_TRUE(device.rings());
}

TEST(HostDevice, AllocatesAlignedZeroesOfTheSizeAskedFor) {
    HostDevice device;
    for (const std::size_t bytes : {1U, 63U, 64U, 65U, 1'000'003U}) {
        for (const MemorySpace space : {MemorySpace::host, MemorySpace::pinned, MemorySpace::device}) {
            const Buffer buffer = device.allocate(space, bytes);

            ASSERT_EQ(buffer.bytes().size(), bytes);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.bytes().data()) % 64, 0U);
            EXPECT_EQ(buffer.space(), space);
            EXPECT_TRUE(std::ranges::all_of(buffer.bytes(), [](std::byte b) { return b == std::byte{0}; }));
            std::ranges::fill(buffer.bytes(), std::byte{0xFF});  // the next one is zero all the same
        }
    }
}

TEST(HostDevice, AllocatesNothingForNoBytes) {
    EXPECT_TRUE(HostDevice().allocate(MemorySpace::host, 0).bytes().empty());
}

TEST(HostDevice, SaysWhatItCouldNotAllocate) {
    HostDevice device(1);
    for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2}) {
        const Error error = test::error_of([&] { return device.allocate(MemorySpace::pinned, bytes); });

        EXPECT_EQ(error.code(), ExitCode::out_of_memory);
        EXPECT_NE(error.text().what.find(std::to_string(bytes) + " bytes of pinned memory"), std::string::npos)
            << error.text().what;
    }
}

TEST(HostDevice, MakesHostStreams) {
    HostDevice device;
    const auto stream = device.make_stream({});

    bool ran = false;
    as_host(*stream).run([&ran] { ran = true; });
    stream->record().wait();

    EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace sluice
