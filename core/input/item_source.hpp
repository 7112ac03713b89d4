#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/codec.hpp"
#include "core/config/config.hpp"
#include "core/interface.hpp"

namespace sluice {

/// Size of an input's files, and bytes read from them so far; bytes read twice count twice.
struct InputReads {
    std::uint64_t file = 0;      ///< Size of all; 0 if there is no file.
    std::uint64_t indexing = 0;  ///< Read to find the items.
    std::uint64_t items = 0;     ///< Read for items.
};

/// A file of an input.
struct SourceFile {
    std::filesystem::path path;
    std::string stamp;             ///< WatchedFile::stamp
    std::uint64_t bytes = 0;       ///< Its size.
    std::uint64_t first_item = 0;  ///< Number of its first item among those of all files.
    std::uint64_t items = 0;
};

/// How much of an input is known while it is still being indexed.
struct Known {
    std::uint64_t count = 0;  ///< Items, from the first one on, that can be read.
    bool is_all = true;
};

/// Files of an input as numbered items in packed form. Some texts are indexed while their items are
/// read: as far as they are known().
class ItemSource : public Interface {
public:
    /// All items; waits for the index, and throws its Error (bad_data, io_error).
    [[nodiscard]] virtual std::uint64_t count() const = 0;

    /// Does not wait; throws the Error of an index that has failed. Thread-safe, as the next three.
    [[nodiscard]] virtual Known known() const { return {.count = count()}; }

    /// Gives up an index that is still being made: nobody waits for it any more, and no more items become known.
    virtual void give_up_index() const noexcept {}

    /// Waits until `items` are known, or all are, or the index has failed, or a request to stop.
    [[nodiscard]] virtual Known wait_for(std::uint64_t items, const std::stop_token& stop) const {
        static_cast<void>(items);
        static_cast<void>(stop);
        return known();
    }

    /// When it was indexed; nullopt: not beside reads of its items, or not yet.
    [[nodiscard]] virtual std::optional<Interval> indexed_beside() const { return std::nullopt; }

    /// Whether all items are known: estimate_count() is exact then. Thread-safe.
    [[nodiscard]] virtual bool is_counted() const noexcept { return true; }

    /// Number of all items, from the mean size of those that are known; not fewer than these.
    [[nodiscard]] virtual std::uint64_t estimate_count() const noexcept { return count(); }

    /// Of count(), from the files' sizes.
    [[nodiscard]] virtual std::uint64_t upper_bound() const { return count(); }

    /// Bytes of the files that hold the items known so far.
    [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;

    /// Thread-safe.
    [[nodiscard]] virtual InputReads reads() const noexcept = 0;

    /// read() is cheapest per item for at least this many items, starting at a multiple of it; at least 1.
    [[nodiscard]] virtual std::uint32_t granularity() const noexcept = 0;

    /// Identifies the content when it was opened: "1234 bytes, XXH3 …", as stamp_of(InputFiles).
    [[nodiscard]] virtual std::string stamp() const = 0;

    /// In the order of their items, as many as are known; none if there is no file.
    [[nodiscard]] virtual std::vector<SourceFile> files() const = 0;

    /// Throws Error (bad_data, E-INP-034) unless the open files, and those at their paths now, still have that content.
    /// Thread-safe.
    virtual void check_content() const = 0;

    /// Reads items [first, first + count) into `to`, count * input_bytes long. Returns how many of them are cut,
    /// because their text is longer than ItemCodec::longest_text(). Thread-safe. Throws Error with the item's number
    /// and its line or byte offset (bad_data), or with the operation and errno (io_error).
    virtual std::uint32_t read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const = 0;
};

/// Opens and indexes the input: several threads scan texts once for their items, so that the count is exact and chunks
/// can be read in any order. The items of several files are numbered as those of one. Throws Error as
/// open_input_files(); bad_data. `codec` outlives the source.
[[nodiscard]] std::unique_ptr<ItemSource> open_input(const JobConfig::Input& input, const ItemCodec& codec);

/// The same; but of texts of at least `least_bytes` in all the first `items` alone are indexed before it returns, and
/// the others beside what the caller does.
[[nodiscard]] std::unique_ptr<ItemSource> open_growing_input(const JobConfig::Input& input, const ItemCodec& codec,
                                                             std::uint64_t items, std::uint64_t least_bytes);

/// What an earlier open_input() has found.
struct CountedInput {
    std::string stamp;  ///< ItemSource::stamp
    std::uint64_t items = 0;
};

/// As open_input(); but files that are still `counted`, by their stamp, are opened alone, their items cannot be read,
/// and files() does not say which they hold.
[[nodiscard]] std::unique_ptr<ItemSource> open_counted_input(const JobConfig::Input& input, const ItemCodec& codec,
                                                             const CountedInput& counted);

/// Reads up to `most` of the first `count` items, of `input_bytes` each, in groups spread evenly over them. Returned as
/// bytes, for sending to other ranks.
[[nodiscard]] std::string read_sample(const ItemSource& source, std::uint64_t count, std::uint32_t most,
                                      std::uint32_t input_bytes);

}  // namespace sluice
