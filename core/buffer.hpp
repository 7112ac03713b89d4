#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace sluice {

enum class MemorySpace {
    host,    ///< Ordinary memory.
    pinned,  ///< Page-locked, so that a copy engine can access it asynchronously.
    device,  ///< Device memory.
};

/// Owns bytes in one memory space; move-only. Released through the device that allocated it, which must outlive it.
class Buffer {
public:
    using Release = void (*)(void* owner, std::span<std::byte> bytes) noexcept;

    Buffer() = default;
    Buffer(std::span<std::byte> bytes, MemorySpace space, void* owner, Release release) noexcept
        : bytes_(bytes), space_(space), owner_(owner), release_(release) {}
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        Buffer taken(std::move(other));
        swap(taken);
        return *this;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (release_ != nullptr) {
            release_(owner_, bytes_);
        }
    }

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
    [[nodiscard]] MemorySpace space() const noexcept { return space_; }

    /// The bytes as T's; the buffer's size is a multiple of sizeof(T).
    template <class T>
    [[nodiscard]] std::span<T> as() const noexcept {
        return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
    }

private:
    void swap(Buffer& other) noexcept {
        std::swap(bytes_, other.bytes_);
        std::swap(space_, other.space_);
        std::swap(owner_, other.owner_);
        std::swap(release_, other.release_);
    }

    std::span<std::byte> bytes_;
    MemorySpace space_ = MemorySpace::host;
    void* owner_ = nullptr;
    Release release_ = nullptr;
};

}  // namespace sluice
