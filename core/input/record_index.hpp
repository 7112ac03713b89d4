#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/input/block_scan.hpp"
#include "core/input/input_file.hpp"
#include "core/input/record.hpp"

namespace sluice {

/// Positions of a text's records: their number, and a checkpoint at every 64 records, or more often if these exceed
/// 32 KiB. Takes 24 bytes per checkpoint: less than 0.4 MB per million records of up to 512 bytes, and at most 0.2 % of
/// a text of longer ones.
class RecordIndex {
public:
    struct Checkpoint {
        std::uint64_t record;
        std::uint64_t offset;
        std::uint64_t line;
        friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
    };

    /// Of no records; the first begins at `begin`.
    explicit RecordIndex(const Checkpoint& begin) : checkpoints_{begin} {}

    /// Adds the next checkpoints, ascending; the last one lies behind all records so far.
    void extend(std::span<const Checkpoint> further);

    [[nodiscard]] std::uint64_t count() const noexcept { return checkpoints_.back().record; }

    /// From the first record to behind the last one.
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return checkpoints_.back().offset - checkpoints_.front().offset;
    }

    /// A power of two: checkpoints are rarely farther apart.
    [[nodiscard]] std::uint32_t granularity() const noexcept;

    /// Record of the last checkpoint at or before `record`; count() if `record` is count().
    [[nodiscard]] std::uint64_t place_before(std::uint64_t record) const;

    /// Record of the first checkpoint behind `record`, which is below count(); count() if there is none.
    [[nodiscard]] std::uint64_t place_behind(std::uint64_t record) const;

    /// The shortest range between checkpoints that holds records [first, first + count), count >= 1; it begins with
    /// record `range.item`.
    [[nodiscard]] RecordRange range_of(std::uint64_t first, std::uint64_t count) const;

    [[nodiscard]] const std::vector<Checkpoint>& checkpoints() const noexcept { return checkpoints_; }

private:
    [[nodiscard]] std::vector<Checkpoint>::const_iterator first_behind(std::uint64_t record) const;

    std::vector<Checkpoint> checkpoints_;  // and behind them the end
};

struct IndexOptions {
    std::uint32_t threads = 0;                         ///< 0: choose_index_threads().
    std::size_t block_bytes = std::size_t{256} << 10;  ///< Read by a thread at once: small enough for its cache.
    BlockScanner scanner = block_scanner();
};

/// Most threads that index a file on the CPUs of this process; at least 1.
[[nodiscard]] std::uint32_t most_index_threads();

/// Number of threads for indexing `bytes`: starting one pays only for a few MiB each.
[[nodiscard]] std::uint32_t choose_index_threads(std::uint32_t cores, std::uint64_t bytes);

/// Takes places behind further records, in file order.
using AddPlaces = std::function<void(std::span<const RecordIndex::Checkpoint> further)>;

/// Finds the records of `range`, which begins with a record, and hands them to `add` as they are found, from one thread
/// at a time: what RecordIndex::extend() takes. `columns`: of each record of comma-separated values; 0: a record is a
/// line. Several threads scan blocks of the file; the mistake that is reported is always the first one, as by
/// RecordReader. Returns early after a request to stop. Throws Error (bad_data, io_error).
void find_records(const InputFile& file, const RecordRange& range, std::size_t columns, const IndexOptions& options,
                  const AddPlaces& add, const std::stop_token& stop = {});

}  // namespace sluice
