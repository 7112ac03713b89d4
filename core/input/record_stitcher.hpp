#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/input/block_scan.hpp"
#include "core/input/input_file.hpp"
#include "core/input/record.hpp"
#include "core/input/record_index.hpp"

namespace sluice {

inline constexpr std::uint64_t checkpoint_records = 64;  ///< Most records between checkpoints, and
inline constexpr std::uint64_t checkpoint_bytes = std::uint64_t{32}
                                                  << 10;  ///< most bytes, unless a single record is longer.

/// Combines the scans of a text's blocks into an index.
class RecordStitcher {
public:
    /// `columns` per record; 0: a record is a line. `file` outlives it.
    RecordStitcher(const InputFile& file, const RecordRange& range, std::size_t columns);

    /// Adds the next block, in file order. Returns false if it is malformed or makes a record too long.
    [[nodiscard]] bool add(const BlockScan& scan, std::uint64_t block_begin, std::uint64_t block_end);

    /// Call after the last block. Returns false if the end of the file is malformed.
    [[nodiscard]] bool finish();

    /// The rest of the range, from the first record that is not complete; everything before it is well-formed.
    [[nodiscard]] RecordRange from_open_record() const;

    /// Checkpoints found since the last call, but that of record 0.
    [[nodiscard]] std::vector<RecordIndex::Checkpoint> take_new() { return std::exchange(new_, {}); }

    /// Call after finish(): behind the last record.
    [[nodiscard]] const RecordIndex::Checkpoint& end() const noexcept { return begin_; }

private:
    [[nodiscard]] bool has_all_columns(std::uint64_t commas) const;
    [[nodiscard]] bool is_too_long(std::uint64_t end) const;
    [[nodiscard]] char byte_at(std::uint64_t offset) const;
    void complete(std::uint64_t end, std::uint64_t line);
    void close_stretch(std::uint64_t records);

    const InputFile& file_;
    RecordRange range_;
    std::size_t columns_;
    RecordIndex::Checkpoint begin_;                                      // of the record that has not ended yet
    std::uint64_t line_;                                                 // at the end of the blocks so far
    std::uint64_t commas_ = 0;                                           // of the open record
    bool inside_ = false;                                                // quotes
    std::array<RecordIndex::Checkpoint, checkpoint_records> stretch_{};  // records since the last multiple
    std::vector<RecordIndex::Checkpoint> new_;
};

}  // namespace sluice
