#pragma once

#include <cstdint>
#include <string>

namespace sluice {

/// A run's items.
struct ItemCount {
    std::uint64_t done = 0;  ///< Those before included.
    std::uint64_t total = 0;
    std::uint64_t before = 0;  ///< That earlier attempts have done.

    /// Of `done`, in percent; of no items all.
    [[nodiscard]] double percent() const noexcept;
};

enum class Percentage : std::uint8_t { hidden, shown };

/// "812 of 2000 items", "812 of 2000 items (40.6 %)"; where some were done before ": 500 in this run, 312 before"
/// follows.
[[nodiscard]] std::string count_text(const ItemCount& items, Percentage percentage = Percentage::hidden);

}  // namespace sluice
