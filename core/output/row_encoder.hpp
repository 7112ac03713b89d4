#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/codec.hpp"
#include "core/config/config.hpp"

namespace sluice {

/// Results as the bytes of an output file: its header, then rows. One thread.
class RowEncoder {
public:
    RowEncoder(OutputFormat format, std::vector<OutputField> fields);

    /// Bytes of one item as the app gives it.
    [[nodiscard]] std::size_t item_bytes() const noexcept { return item_bytes_; }

    /// What a file of `items` items begins with; may be empty.
    [[nodiscard]] std::string header(std::uint64_t items) const;

    /// The rows of `count` items from number `first` on; `outputs` is count * item_bytes() long. Valid until the next
    /// call, and as long as `outputs`.
    [[nodiscard]] std::span<const std::byte> encode(std::uint64_t first, std::uint32_t count,
                                                    std::span<const std::byte> outputs);

    /// About how long a row is, for items up to number `items`: exact for .npy, else right within a factor of two.
    [[nodiscard]] std::uint64_t estimate_row_bytes(std::uint64_t items) const;

private:
    OutputFormat format_;
    std::vector<OutputField> fields_;
    std::size_t item_bytes_;
    std::string rows_;
};

/// ".csv", ".jsonl" or ".npy".
[[nodiscard]] std::string extension_of(OutputFormat format);

}  // namespace sluice
