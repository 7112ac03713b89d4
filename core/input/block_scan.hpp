#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice {

/// End of a record: counts from the block's first byte to behind the record's line feed.
struct RecordEnd {
    std::uint32_t offset;
    std::uint32_t line_feeds;
};

/// Records that end in a block, under an assumption about its first byte: outside or inside quotes.
struct BlockRecords {
    std::vector<RecordEnd> ends;
    std::uint64_t first_commas = 0;  ///< Before the first end, if there is one.
    std::uint64_t last_commas = 0;   ///< Behind the last one, or of the whole block.
    bool is_malformed = false;       ///< Then the other members are meaningless.
};

/// What can be told from a block of text alone, whatever precedes it.
struct BlockScan {
    std::array<BlockRecords, 2> records;  ///< [1] if the block begins inside quotes. Lines: [0] alone.
    std::uint32_t line_feeds = 0;         ///< Of the whole block.
    bool has_odd_quotes = false;          ///< It ends inside quotes if it begins outside, and vice versa.
};

/// Finds the records of a block of less than 4 GiB. A NUL makes it malformed.
struct BlockScanner {
    /// A record is a line.
    void (*lines)(std::string_view block, BlockScan& to);

    /// Comma-separated values, under both assumptions. Malformed is what CsvFraming refuses, as far as the block shows
    /// it: not the number of columns of its first record, nor a record cut off by the end of the file. `before` is the
    /// byte before the block, a line feed at the start of the text; every record has `columns`.
    void (*csv)(std::string_view block, char before, std::uint64_t columns, BlockScan& to);
};

/// The fastest one for this CPU.
[[nodiscard]] const BlockScanner& block_scanner();

/// All that this CPU can run.
[[nodiscard]] std::vector<BlockScanner> block_scanners();

}  // namespace sluice
