#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/codec.hpp"
#include "core/config/config.hpp"
#include "core/interface.hpp"

namespace sluice {

/// Size of an input file, and bytes read from it so far; bytes read twice count twice.
struct InputReads {
    std::uint64_t file = 0;      ///< Size; 0 if there is no file.
    std::uint64_t indexing = 0;  ///< Read while opening.
    std::uint64_t items = 0;     ///< Read for items.
};

/// An input file as numbered items in packed form.
class ItemSource : public Interface {
public:
    [[nodiscard]] virtual std::uint64_t count() const noexcept = 0;

    /// Bytes of the file that hold the items.
    [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;

    /// Thread-safe.
    [[nodiscard]] virtual InputReads reads() const noexcept = 0;

    /// read() is cheapest per item for at least this many items, starting at a multiple of it; at least 1.
    [[nodiscard]] virtual std::uint32_t granularity() const noexcept = 0;

    /// Identifies the file's content when it was opened: "1234 bytes, XXH3 …", like WatchedFile::stamp().
    [[nodiscard]] virtual std::string stamp() const = 0;

    /// Throws Error (bad_data, E-INP-034) unless the open file, and the file at its path now, still have that content.
    /// Thread-safe.
    virtual void check_content() const = 0;

    /// Reads items [first, first + count) into `to`, count * input_bytes long. Thread-safe. Throws Error with the
    /// item's number and its line or byte offset (bad_data), or with the operation and errno (io_error).
    virtual void read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const = 0;
};

/// Opens and indexes the input: several threads scan a text file once for its items, so that the count is exact and
/// chunks can be read in any order. Throws Error (no_input, bad_data). `codec` outlives the source.
[[nodiscard]] std::unique_ptr<ItemSource> open_input(const JobConfig::Input& input, const ItemCodec& codec);

/// What an earlier open_input() has found in a file.
struct CountedInput {
    std::string stamp;  ///< ItemSource::stamp
    std::uint64_t items = 0;
};

/// As open_input(); but a file that is still `counted`, by its stamp, is opened alone, and its items cannot be read.
[[nodiscard]] std::unique_ptr<ItemSource> open_counted_input(const JobConfig::Input& input, const ItemCodec& codec,
                                                             const CountedInput& counted);

/// Reads up to `most` items of `input_bytes` each, in groups spread evenly over the input, equal in every run. Returned
/// as bytes, for sending to other ranks.
[[nodiscard]] std::string read_sample(const ItemSource& source, std::uint32_t most, std::uint32_t input_bytes);

}  // namespace sluice
