#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice {

enum class EntryType : std::uint16_t {
    commit = 1,    ///< A chunk's bytes are in the part's file, synced.
    seal = 2,      ///< All chunks of a part are; nobody writes to it any more.
    inflight = 3,  ///< Kept for a use that never came.
    fail = 4,      ///< An item of a chunk that was committed before has no result.
    adopted = 5,   ///< As commit: its bytes were copied from an earlier attempt.
};

/// One line of the journal. Of a fail, `offset` is the item's number and `items` the chunk's. Of a seal, `chunk` is the
/// part's first, `offset` is 0 and `length`, `checksum`, `items` and `nonfinite` are those of the whole part, its
/// header included.
struct JournalEntry {
    static constexpr std::size_t bytes = 64;

    EntryType type = EntryType::commit;
    std::uint16_t file = 0;  ///< Which writer's; 0 with one writer.
    std::uint32_t attempt = 0;
    std::uint32_t sequence = 0;  ///< From 0, without a gap.
    std::uint64_t chunk = 0;
    std::uint32_t part = 0;
    std::uint32_t items = 0;
    std::uint64_t offset = 0;    ///< In the part's file, in bytes.
    std::uint64_t length = 0;    ///< In bytes.
    std::uint64_t checksum = 0;  ///< XXH3-64 of the bytes.
    std::uint32_t nonfinite = 0;

    friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

/// Little-endian: magic "SLJ1", type, file, attempt, sequence, chunk, part, items, offset, length, checksum, nonfinite,
/// and the CRC-32C of all that.
[[nodiscard]] std::array<std::byte, JournalEntry::bytes> encode(const JournalEntry& entry);

/// nullopt: `bytes`, JournalEntry::bytes long, are no entry.
[[nodiscard]] std::optional<JournalEntry> decode_journal_entry(std::span<const std::byte> bytes);

}  // namespace sluice
