#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/codec.hpp"
#include "core/config/config.hpp"

namespace sluice {

/// Bytes of an input file, and how many were read from it so far; one that was read twice counts twice.
struct InputReads {
    std::uint64_t file = 0;      ///< All that it has; 0: there is no file.
    std::uint64_t indexing = 0;  ///< Read when it was opened.
    std::uint64_t items = 0;     ///< Read for items.
};

/// An input file as numbered items in packed form.
class ItemSource {
public:
    ItemSource() = default;
    ItemSource(const ItemSource&) = delete;
    ItemSource& operator=(const ItemSource&) = delete;
    virtual ~ItemSource() = default;

    [[nodiscard]] virtual std::uint64_t count() const noexcept = 0;

    /// Bytes of the file that hold them.
    [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;

    /// Thread-safe.
    [[nodiscard]] virtual InputReads reads() const noexcept = 0;

    /// read() costs least an item for as many items or more, beginning at a multiple of it; at least 1.
    [[nodiscard]] virtual std::uint32_t granularity() const noexcept = 0;

    /// What the file held when it was opened: "1234 bytes, XXH3 …", as WatchedFile::stamp.
    [[nodiscard]] virtual std::string stamp() const = 0;

    /// Throws Error (bad_data, E-INP-034) unless the file still holds that, and its path leads nowhere else than to the
    /// same content. Thread-safe.
    virtual void check_content() const = 0;

    /// Writes items [first, first + count) to `to`, count * input_bytes long. Thread-safe: several readers call it at
    /// once. Throws Error with the item's number and the line or byte where it stands (bad_data), or with the
    /// operation and errno (io_error).
    virtual void read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const = 0;
};

/// Opens and indexes the input: several threads pass over a text once and find its items, so that the count is exact
/// and chunks can be read in any order. Throws Error (no_input, bad_data). Keeps `codec`, which must outlive the
/// source.
[[nodiscard]] std::unique_ptr<ItemSource> open_input(const JobConfig::Input& input, const ItemCodec& codec);

/// Up to `most` items of `input_bytes` each, in groups spread evenly over the input: the same in every run. As
/// bytes for the way to other ranks.
[[nodiscard]] std::string read_sample(const ItemSource& source, std::uint32_t most, std::uint32_t input_bytes);

}  // namespace sluice
