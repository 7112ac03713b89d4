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

enum class FieldType { int32, float32, text };

/// One column (or several equal ones) of the output.
struct OutputField {
    std::string name;
    FieldType type = FieldType::int32;
    std::uint32_t count = 1;
    std::uint32_t most_bytes = 0;  ///< Of a text, as .npy needs it; 0: of any length.
    bool in_txt = true;            ///< Whether .txt, which has one text an item, is not to leave it out.
};

/// In a result that has its values as they are, and in .npy: an int32 that is not there.
inline constexpr std::int32_t missing_int32 = std::numeric_limits<std::int32_t>::min();

/// Takes the values of one item of the output: as many as the app's output fields have, in their order and of their
/// types, or all of them at once by fixed(). Throws ContractViolation at any other value.
class Row {
public:
    Row() = default;
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;

    virtual void int32(std::int32_t value) = 0;
    virtual void float32(float value) = 0;

    /// UTF-8; whatever is not well-formed is replaced.
    virtual void text(std::string_view bytes) = 0;

    /// The next value is not there.
    virtual void missing() = 0;

    /// All values of a result that has them as they are: four bytes each, one after the other. An int32 of
    /// missing_int32 is missing.
    virtual void fixed(std::span<const std::byte> result) = 0;

protected:
    ~Row() = default;
};

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

    /// What is wrong with the text of an item ("the prefix has …"), empty: nothing. encode() gets no other text.
    [[nodiscard]] virtual std::string check_text(std::string_view text) const {
        static_cast<void>(text);
        return {};
    }

    /// Text (UTF-8 or any bytes) of the input's item `item`, counted from 0, to one item on the wire; to.size() ==
    /// shape().input_bytes, every byte is written. `text` is empty without an input file, and the same for all items
    /// of a result (input.count).
    virtual void encode(std::uint64_t item, std::string_view text, std::span<std::byte> to) const = 0;

    /// Bytes of one item in the app's dense fp32 format (`.bin`, `.npy` fp32), row-major `dense_shape()`; empty: has
    /// none.
    [[nodiscard]] virtual std::vector<std::uint64_t> dense_shape() const = 0;

    /// Packs one dense item. Returns an empty string, or what is wrong ("column 17: …").
    [[nodiscard]] virtual std::string pack_dense(std::span<const float> dense, std::span<std::byte> to) const = 0;

    /// Integers that an item has in a headerless file (`.bin`, int32); in `.npy` its row has any number of them, in any
    /// integer type. 0: the app takes none. One that takes some has no dense form.
    [[nodiscard]] virtual std::uint32_t row_integers() const noexcept { return 0; }

    /// Packs the input's item `item` from its row. Returns an empty string, or what is wrong ("column 3: …"). Never
    /// called unless row_integers().
    [[nodiscard]] virtual std::string pack_integers(std::uint64_t item, std::span<const std::int64_t> row,
                                                    std::span<std::byte> to) const;

    /// Checks one item that came in packed form (`.u8`, `.npy` uint8). Empty string, or what is wrong ("byte 17: …").
    [[nodiscard]] virtual std::string check_packed(std::span<const std::byte> item) const = 0;

    /// The columns of the output.
    [[nodiscard]] virtual std::vector<OutputField> output_fields() const = 0;

    // How they lie in a result, which is shape().output_bytes of one item, only these know. By default the result is
    // the values of output_fields(), one after the other, four bytes each; an app with text has its own decode() and
    // write_missing().

    virtual void decode(std::span<const std::byte> result, Row& row) const { row.fixed(result); }

    /// How many values of `results`, whole ones, are NaN or infinite. By default the float32 that decode() gives.
    [[nodiscard]] virtual std::uint64_t nonfinite(std::span<const std::byte> results) const;

    /// Writes the result of an item that has no result. By default its int32 are missing and its float32 NaN.
    virtual void write_missing(std::span<std::byte> result) const;
};

}  // namespace sluice
