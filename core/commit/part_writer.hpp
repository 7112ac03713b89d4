#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "core/checksum.hpp"
#include "core/commit/file.hpp"
#include "core/commit/journal_entry.hpp"

namespace sluice {

/// A part whose chunks are all committed and whose file nobody writes to any more.
struct SealedPart {
    std::uint32_t part = 0;
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;  ///< XXH3-64 of all of it, the header included.
    std::uint64_t items = 0;
    std::uint64_t nonfinite = 0;

    friend bool operator==(const SealedPart&, const SealedPart&) = default;
};

[[nodiscard]] JournalEntry seal_entry(const SealedPart& part, std::uint64_t first_chunk);
[[nodiscard]] SealedPart sealed_part(const JournalEntry& seal);

/// What one chunk has become.
struct ChunkBytes {
    std::uint64_t chunk = 0;
    std::uint32_t items = 0;
    std::uint32_t nonfinite = 0;
    std::span<const std::byte> bytes{};
    std::vector<std::uint64_t> failed{};  ///< Items that have no result, counted over the whole input.
};

/// Says of an item of the chunk that `chunk` is about that it has no result.
[[nodiscard]] JournalEntry fail_entry(const JournalEntry& chunk, std::uint64_t item);

/// The part that grows: a new file, its header, then chunk after chunk. What is written is sent on its way to the disk
/// every few MiB, so that it does not all wait for the next commit.
class PartWriter {
public:
    PartWriter(const std::filesystem::path& path, std::uint32_t part, std::string_view header);

    /// The entry that makes it count, `type` commit or adopted, if it comes next.
    [[nodiscard]] JournalEntry entry_of(const ChunkBytes& chunk, EntryType type) const;

    /// Returns that entry.
    [[nodiscard]] JournalEntry append(const ChunkBytes& chunk, EntryType type);

    [[nodiscard]] std::uint32_t part() const noexcept { return sealed_.part; }

    void sync_data() const { file_.sync_data(); }

    /// Syncs and closes it; nothing may follow.
    [[nodiscard]] SealedPart seal();

private:
    File file_;
    Checksum checksum_;
    SealedPart sealed_;
    std::uint64_t sent_ = 0;  // bytes that are on their way to the disk
};

}  // namespace sluice
