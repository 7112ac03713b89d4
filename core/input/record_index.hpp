#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/input/block_scan.hpp"
#include "core/input/input_file.hpp"
#include "core/input/record.hpp"

namespace sluice {

/// Where the records of a text stand: their number, and a place to begin at every 64 records, or nearer where these are
/// more than 32 KiB. Takes 24 bytes a place: less than 0.4 MB per million records of up to 512 bytes each, and at most
/// 0.2 % of a text of longer ones.
class RecordIndex {
public:
    struct Checkpoint {
        std::uint64_t record;
        std::uint64_t offset;
        std::uint64_t line;
        friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
    };

    /// Ascending, the first at record 0; `end` is behind the last record and has their number.
    RecordIndex(std::vector<Checkpoint> checkpoints, const Checkpoint& end);

    [[nodiscard]] std::uint64_t count() const noexcept { return checkpoints_.back().record; }

    /// From the first record to behind the last one.
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return checkpoints_.back().offset - checkpoints_.front().offset;
    }

    /// A power of two: places to begin are rarely farther apart.
    [[nodiscard]] std::uint32_t granularity() const noexcept;

    /// The nearest place to begin that is not behind `record`, by the number of its record; count() if `record` is
    /// that.
    [[nodiscard]] std::uint64_t place_before(std::uint64_t record) const;

    /// The nearest one behind `record`, which is below count().
    [[nodiscard]] std::uint64_t place_behind(std::uint64_t record) const;

    /// The shortest range between places to begin that has records [first, first + count), count >= 1; it begins with
    /// record `range.item`.
    [[nodiscard]] RecordRange range_of(std::uint64_t first, std::uint64_t count) const;

    [[nodiscard]] const std::vector<Checkpoint>& checkpoints() const noexcept { return checkpoints_; }

private:
    [[nodiscard]] std::vector<Checkpoint>::const_iterator first_behind(std::uint64_t record) const;

    std::vector<Checkpoint> checkpoints_;  // and behind them the end
};

struct IndexOptions {
    std::uint32_t threads = 0;                         ///< 0: choose_index_threads().
    std::size_t block_bytes = std::size_t{256} << 10;  ///< That a thread reads at once: they stay in its cache.
    BlockScanner scanner = block_scanner();
};

/// Threads that share the indexing of so many bytes, of which one alone would not be worth it for less than a few MiB.
[[nodiscard]] std::uint32_t choose_index_threads(std::uint32_t cores, std::uint64_t bytes);

/// Finds the records of `range`, which begins with one. `columns` of each record of comma-separated values; 0: a record
/// is a line. Several threads scan blocks of the file, and whatever they are at, it is the first mistake that is told:
/// the same as RecordReader finds. Throws Error (bad_data, io_error).
[[nodiscard]] RecordIndex index_records(const InputFile& file, const RecordRange& range, std::size_t columns,
                                        const IndexOptions& options = {});

}  // namespace sluice
