#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice {

/// Counted from the block's first byte to behind the record's line feed.
struct RecordEnd {
    std::uint32_t offset;
    std::uint32_t line_feeds;
};

/// The records that end in a block, if its first byte is where they suppose: outside or inside quotes.
struct BlockRecords {
    std::vector<RecordEnd> ends;
    std::uint64_t first_commas = 0;  ///< Before the first end, where there is one.
    std::uint64_t last_commas = 0;   ///< Behind the last one, or of the whole block.
    bool is_malformed = false;       ///< Then the rest tells nothing.
};

/// What a block of a text says on its own, whatever stands before it.
struct BlockScan {
    std::array<BlockRecords, 2> records;  ///< [1] if the block begins inside quotes. Lines: [0] alone.
    std::uint32_t line_feeds = 0;         ///< Of the whole block.
    bool has_odd_quotes = false;          ///< It ends on the other side of a quote than it begins.
};

/// Finds the records of a block of less than 4 GiB. A NUL makes it malformed.
struct BlockScanner {
    /// A record is a line.
    void (*lines)(std::string_view block, BlockScan& to);

    /// Comma-separated values, seen both ways. Malformed is what CsvFraming refuses and can be told from the block: all
    /// but the number of columns in its first record, and what the end of the file cuts off. `before` is the byte
    /// before it, a line feed where the text begins; every record has `columns`.
    void (*csv)(std::string_view block, char before, std::uint64_t columns, BlockScan& to);
};

/// The fastest on this CPU.
[[nodiscard]] const BlockScanner& block_scanner();

/// All that run on this CPU.
[[nodiscard]] std::vector<BlockScanner> block_scanners();

}  // namespace sluice
