#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/chunk.hpp"

namespace sluice {

enum class FieldType { int32, float32 };

/// The int32 of an item that has no result: an empty cell, null in JSON. Its floats are NaN.
inline constexpr std::int32_t no_value = std::numeric_limits<std::int32_t>::min();

/// One column (or several equal ones) of the output. The bytes of an output item are its fields, one after the other.
struct OutputField {
    std::string name;
    FieldType type = FieldType::int32;
    std::uint32_t count = 1;
    bool is_chosen = false;  ///< An int32 alone that may have nonfinite_mark.
};

/// Set in an index that was chosen among scores of which some are NaN or infinite, so that this is noticed where the
/// scores themselves stay on the device. It is gone in what is written.
inline constexpr std::int32_t nonfinite_mark = 1 << 30;

/// How an app's items look in files and on the wire. Pure and thread-safe.
class ItemCodec {
public:
    ItemCodec() = default;
    ItemCodec(const ItemCodec&) = delete;
    ItemCodec& operator=(const ItemCodec&) = delete;
    virtual ~ItemCodec() = default;

    [[nodiscard]] virtual IoShape shape() const noexcept = 0;

    /// False: an item's number says enough, so that a job may do without an input file.
    [[nodiscard]] virtual bool needs_text() const noexcept { return true; }

    /// Text (UTF-8 or any bytes) of the input's item `item`, counted from 0, to one item on the wire; to.size() ==
    /// shape().input_bytes, every byte is written. `text` is empty without an input file, and the same for all items
    /// of a record (input.count).
    virtual void encode(std::uint64_t item, std::string_view text, std::span<std::byte> to) const = 0;

    /// Bytes of one item in the app's fat fp32 format (`.bin`, `.npy` fp32), row-major `fat_shape()`; empty: has none.
    [[nodiscard]] virtual std::vector<std::uint64_t> fat_shape() const = 0;

    /// Packs one fat item. Returns an empty string, or what is wrong ("column 17: …").
    [[nodiscard]] virtual std::string pack_fat(std::span<const float> fat, std::span<std::byte> to) const = 0;

    /// Checks one item that came in wire form (`.u8`, `.npy` uint8). Empty string, or what is wrong ("byte 17: …").
    [[nodiscard]] virtual std::string check_wire(std::span<const std::byte> item) const = 0;

    [[nodiscard]] virtual std::vector<OutputField> output_fields() const = 0;
};

}  // namespace sluice
