#include "core/device/host_device.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/device/host_stream.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::size_t host_alignment = 64;  // a cache line, and an AVX-512 register

constexpr std::array<std::string_view, 3> space_names{"host", "pinned", "device"};

}  // namespace

HostDevice::HostDevice(unsigned index) : name_(fmt::format("host:{}", index)) {}

std::unique_ptr<Stream> HostDevice::make_stream(const StreamOptions& options) {
    return std::make_unique<HostStream>(options);
}

Buffer HostDevice::allocate(MemorySpace space, std::size_t bytes) {
    if (bytes == 0) {
        return {};
    }
    const std::size_t rounded = (bytes + host_alignment - 1) / host_alignment * host_alignment;
    void* const memory = rounded < bytes ? nullptr : std::aligned_alloc(host_alignment, rounded);
    if (memory == nullptr) {
        throw Error(
            ExitCode::out_of_memory,
            {.id = "E-MEM-068",
             .where = name_,
             .what = fmt::format("cannot allocate {} bytes of {} memory", bytes, space_names[std::size_t(space)]),
             .hint = "lower pipeline.depth or pipeline.chunk_items, or ask for more memory"});
    }
    std::memset(memory, 0, rounded);
    return {{static_cast<std::byte*>(memory), bytes}, space, nullptr, [](void*, std::span<std::byte> owned) noexcept {
                std::free(owned.data());
            }};
}

}  // namespace sluice
