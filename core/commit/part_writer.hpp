#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "core/commit/file.hpp"
#include "core/commit/journal.hpp"
#include "core/files/checksum.hpp"

namespace sluice {

/// A part with all chunks committed, whose file is no longer written.
struct SealedPart {
    std::uint32_t part = 0;
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;  ///< XXH3-64 of the whole part, including the header.
    std::uint64_t items = 0;
    std::uint64_t nonfinite = 0;

    friend bool operator==(const SealedPart&, const SealedPart&) = default;
};

[[nodiscard]] JournalEntry seal_entry(const SealedPart& part, std::uint64_t first_chunk);
[[nodiscard]] SealedPart sealed_part(const JournalEntry& seal);

/// An encoded chunk.
struct ChunkBytes {
    std::uint64_t chunk = 0;
    std::uint32_t items = 0;
    std::uint32_t nonfinite = 0;
    std::span<const std::byte> bytes{};
    std::vector<std::uint64_t> failed{};  ///< Numbers, in the whole input, of items without a result.
};

/// Journal entry for an item without a result in the chunk of entry `chunk`.
[[nodiscard]] JournalEntry fail_entry(const JournalEntry& chunk, std::uint64_t item);

/// The part being written: a new file with a header, then chunk after chunk. Starts write-back every few MiB, so that
/// the next commit has less to wait for.
class PartWriter {
public:
    PartWriter(const std::filesystem::path& path, std::uint32_t part, std::string_view header);

    /// Journal entry, of `type` commit or adopted, for `chunk` if it is appended next.
    [[nodiscard]] JournalEntry entry_of(const ChunkBytes& chunk, EntryType type) const;

    /// Writes the chunk; returns entry_of(chunk, type).
    [[nodiscard]] JournalEntry append(const ChunkBytes& chunk, EntryType type);

    [[nodiscard]] std::uint32_t part() const noexcept { return sealed_.part; }

    void sync_data() const { file_.sync_data(); }

    /// Syncs and closes the file. No member may be called afterwards.
    [[nodiscard]] SealedPart seal();

private:
    File file_;
    Checksum checksum_;
    SealedPart sealed_;
    std::uint64_t sent_ = 0;  // bytes whose write-back has started
};

}  // namespace sluice
