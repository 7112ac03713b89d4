#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/chunk.hpp"
#include "core/interface.hpp"

namespace sluice {

enum class FieldType { int32, float32, text };

/// One column, or several of the same type, of the output.
struct OutputField {
    std::string name;
    FieldType type = FieldType::int32;
    std::uint32_t count = 1;
    std::uint32_t most_bytes = 0;  ///< Maximum length of a text, which .npy needs; 0: unlimited.
    bool in_txt = true;            ///< False: omitted from .txt, which has one text per item.
    bool has_index = false;        ///< Even a single value is numbered, or an array, like several values.
    std::string asked_by{};        ///< The job's key that adds it, which .txt refuses if it omits it; empty: none.

    [[nodiscard]] bool is_array() const noexcept { return has_index || count > 1; }
};

/// A missing int32, in .npy and in results that hold their values in binary form.
inline constexpr std::int32_t missing_int32 = std::numeric_limits<std::int32_t>::min();

/// Receives the values of one output item, in the number, order and types of the app's output fields, or all of them at
/// once by fixed(). Throws ContractViolation on any other value.
class Row {
public:
    Row() = default;
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;

    virtual void int32(std::int32_t value) = 0;
    virtual void float32(float value) = 0;

    /// UTF-8; malformed sequences are replaced by U+FFFD.
    virtual void text(std::string_view bytes) = 0;

    /// The next value is missing.
    virtual void missing() = 0;

    /// All values of a result in binary form: four consecutive bytes each. An int32 equal to missing_int32 is missing.
    virtual void fixed(std::span<const std::byte> result) = 0;

protected:
    ~Row() = default;
};

/// What is wrong with an item; nothing if `what` is empty.
struct ItemProblem {
    std::string what{};  ///< "the prefix has …", "column 17: …".
    std::string hint{};  ///< What to do; names the key if one of the job's refuses the item. Empty: correct the item.

    /// Whether there is one.
    explicit operator bool() const noexcept { return !what.empty(); }
    [[nodiscard]] std::string advice() const { return hint.empty() ? "correct the item or leave it out" : hint; }
};

/// Converts an app's items between files and the wire. Stateless and thread-safe.
class ItemCodec : public Interface {
public:
    /// Neither size is 0.
    [[nodiscard]] virtual IoShape shape() const noexcept = 0;

    /// False if an item's number suffices, so that a job needs no input file.
    [[nodiscard]] virtual bool needs_text() const noexcept { return true; }

    /// Checks an item's text. encode() is only called with texts that pass.
    [[nodiscard]] virtual ItemProblem check_text([[maybe_unused]] std::string_view text) const { return {}; }

    /// Encodes the text (UTF-8 or any bytes) of the input's item number `item`, from 0, for the wire. to.size() ==
    /// shape().input_bytes; writes every byte. `text` is empty without an input file, and the same for all items of a
    /// result (input.count).
    virtual void encode(std::uint64_t item, std::string_view text, std::span<std::byte> to) const = 0;

    /// Whether texts are integers, separated by spaces: in `.jsonl` an array of them is such a text, too.
    [[nodiscard]] virtual bool takes_integers_as_text() const noexcept { return false; }

    /// Bytes of a text that encode() looks at; it ignores the rest, and reports count the items whose text is longer.
    /// nullopt: it looks at all of any text, and reports say nothing.
    [[nodiscard]] virtual std::optional<std::size_t> longest_text() const noexcept { return std::nullopt; }

    // Besides texts an app may read arrays of three forms: dense, integers, packed. By default it reads none.

    /// Dimensions, row-major, of one item in the app's dense fp32 format (`.bin`, `.npy` fp32); empty if it has none.
    [[nodiscard]] virtual std::vector<std::uint64_t> dense_shape() const { return {}; }

    /// Packs one dense item, unless something is wrong with it. Only called if dense_shape() is not empty.
    [[nodiscard]] virtual ItemProblem pack_dense(std::span<const float> dense, std::span<std::byte> to) const;

    /// Integers per item in a headerless file (`.bin`, int32); in `.npy` a row has any number of them, of any integer
    /// type. 0 if the app does not read integers. An app that does has no dense format.
    [[nodiscard]] virtual std::uint32_t row_integers() const noexcept { return 0; }

    /// Packs the input's item number `item` from its row of integers, larger ones as the largest, unless something is
    /// wrong with it. Only called if row_integers() is not 0.
    [[nodiscard]] virtual ItemProblem pack_integers(std::uint64_t item, std::span<const std::int64_t> row,
                                                    std::span<std::byte> to) const;

    /// Whether files may hold items as they are on the wire, their packed form (`.u8`, `.npy` uint8). An app that reads
    /// integers has none.
    [[nodiscard]] virtual bool has_packed_form() const noexcept { return false; }

    /// Checks an item read in packed form. By default any bytes are an item. Only called if has_packed_form().
    [[nodiscard]] virtual ItemProblem check_packed([[maybe_unused]] std::span<const std::byte> item) const {
        return {};
    }

    /// Columns of the output.
    [[nodiscard]] virtual std::vector<OutputField> output_fields() const = 0;

    // Only the following functions know the layout of a result, shape().output_bytes per item. By default it holds the
    // values of output_fields(), four consecutive bytes each; an app with text overrides decode() and write_missing().

    virtual void decode(std::span<const std::byte> result, Row& row) const { row.fixed(result); }

    /// Number of values in `results` (whole results) that are NaN or infinite. By default counts the float32 that
    /// decode() emits.
    [[nodiscard]] virtual std::uint64_t nonfinite(std::span<const std::byte> results) const;

    /// Whether nonfinite() counts items, with scores that need not be written; by default where no float32 is.
    [[nodiscard]] virtual bool counts_nonfinite_items() const;

    /// Writes the result of an item without a result. By default int32 are missing and float32 are NaN.
    virtual void write_missing(std::span<std::byte> result) const;
};

}  // namespace sluice
