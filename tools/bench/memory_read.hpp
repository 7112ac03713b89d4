#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "core/clock.hpp"
#include "core/function_ref.hpp"

namespace sluice::bench {

/// Zeroed pages of this process, huge if available: the best case for reading memory.
class PlainMemory {
public:
    /// Throws std::bad_alloc.
    explicit PlainMemory(std::size_t bytes);
    PlainMemory(const PlainMemory&) = delete;
    PlainMemory& operator=(const PlainMemory&) = delete;
    ~PlainMemory();

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

private:
    std::span<std::byte> bytes_;
};

/// Fills `to` from the beginning of a file, on `threads` threads.
void load(const std::filesystem::path& file, std::span<std::byte> to, std::uint32_t threads);

/// Runs `work(index)` on `threads` threads simultaneously. Returns the time from their common start to the last one's
/// end.
Seconds time_together(std::uint32_t threads, FunctionRef<void(std::uint32_t)> work);

/// Time that `threads` threads take to sum up all of `memory`, each its own share.
[[nodiscard]] Seconds time_to_read(std::span<const std::byte> memory, std::uint32_t threads);

}  // namespace sluice::bench
