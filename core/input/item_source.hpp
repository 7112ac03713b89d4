#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/codec.hpp"
#include "core/config/config.hpp"
#include "core/interface.hpp"

namespace sluice {

/// Size of an input's files, and bytes read from them so far; bytes read twice count twice.
struct InputReads {
    std::uint64_t file = 0;      ///< Size of all; 0 if there is no file.
    std::uint64_t indexing = 0;  ///< Read while opening.
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

/// Files of an input as numbered items in packed form.
class ItemSource : public Interface {
public:
    [[nodiscard]] virtual std::uint64_t count() const noexcept = 0;

    /// Bytes of the files that hold the items.
    [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;

    /// Thread-safe.
    [[nodiscard]] virtual InputReads reads() const noexcept = 0;

    /// read() is cheapest per item for at least this many items, starting at a multiple of it; at least 1.
    [[nodiscard]] virtual std::uint32_t granularity() const noexcept = 0;

    /// Identifies the content when it was opened: "1234 bytes, XXH3 …", as stamp_of(InputFiles).
    [[nodiscard]] virtual std::string stamp() const = 0;

    /// In the order of their items; none if there is no file.
    [[nodiscard]] virtual std::vector<SourceFile> files() const = 0;

    /// Throws Error (bad_data, E-INP-034) unless the open files, and those at their paths now, still have that content.
    /// Thread-safe.
    virtual void check_content() const = 0;

    /// Reads items [first, first + count) into `to`, count * input_bytes long. Thread-safe. Throws Error with the
    /// item's number and its line or byte offset (bad_data), or with the operation and errno (io_error).
    virtual void read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const = 0;
};

/// Opens and indexes the input: several threads scan texts once for their items, so that the count is exact and chunks
/// can be read in any order. The items of several files are numbered as those of one. Throws Error as
/// open_input_files(); bad_data. `codec` outlives the source.
[[nodiscard]] std::unique_ptr<ItemSource> open_input(const JobConfig::Input& input, const ItemCodec& codec);

/// What an earlier open_input() has found.
struct CountedInput {
    std::string stamp;  ///< ItemSource::stamp
    std::uint64_t items = 0;
};

/// As open_input(); but files that are still `counted`, by their stamp, are opened alone, their items cannot be read,
/// and files() does not say which they hold.
[[nodiscard]] std::unique_ptr<ItemSource> open_counted_input(const JobConfig::Input& input, const ItemCodec& codec,
                                                             const CountedInput& counted);

/// Reads up to `most` items of `input_bytes` each, in groups spread evenly over the input, equal in every run. Returned
/// as bytes, for sending to other ranks.
[[nodiscard]] std::string read_sample(const ItemSource& source, std::uint32_t most, std::uint32_t input_bytes);

}  // namespace sluice
