#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sluice {

/// An open file. The destructor closes it, but cannot report errors; close() can.
class Descriptor {
public:
    Descriptor() = default;  ///< No file.
    /// -1: no file.
    explicit Descriptor(int number) noexcept : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor();

    [[nodiscard]] int number() const noexcept { return number_; }

    struct Read {
        std::size_t bytes = 0;
        int error = 0;  ///< An errno; 0: none.
    };

    /// Fills `to` from byte `offset` on. Fewer bytes without an error mean the end of the file.
    [[nodiscard]] Read read_at(std::uint64_t offset, std::span<std::byte> to) const noexcept;

    /// Returns 0 or an errno; does nothing without a file.
    int close() noexcept;

private:
    int number_ = -1;
};

/// Writes all of `bytes` to the open file `number`. Returns 0 or an errno. Async-signal-safe.
int write_all(int number, std::span<const std::byte> bytes) noexcept;

}  // namespace sluice
