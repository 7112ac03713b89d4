#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace sluice {

/// No real text comes near it; a record beyond it is a forgotten quote or a file that is not text.
inline constexpr std::size_t longest_record = std::size_t{16} << 20;

/// The number of a header line in place of an item's; the next is 0.
inline constexpr std::uint64_t header_item = std::numeric_limits<std::uint64_t>::max();

/// What is wrong with one record; the reader adds file, line and item and throws Error (bad_data).
struct RecordProblem {
    const char* id;
    std::string what;
    std::string hint;
};

/// Where a record ends, counted from its first byte.
struct Frame {
    std::size_t length;    ///< Bytes of the record without its line end.
    std::size_t consumed;  ///< Bytes up to the next record.
    std::uint64_t lines;   ///< Line feeds in `consumed`.
};

struct Record {
    std::string_view text;  ///< Lives until the reader's next call.
    std::uint64_t line;     ///< Where the record begins, counted from 1.
};

/// Part of a file, from the first byte of a record to behind the last byte of another.
struct RecordRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t line = 1;        ///< Of `begin`.
    std::uint64_t item = 0;        ///< Number of the record at `begin`, for messages.
    std::uint64_t items_each = 1;  ///< Items that are made of each record; likewise.
};

}  // namespace sluice
