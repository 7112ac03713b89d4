#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/commit/file.hpp"

namespace sluice {

enum class EntryType : std::uint16_t {
    commit = 1,    ///< A chunk's bytes are in the part's file, synced.
    seal = 2,      ///< All chunks of a part are; nobody writes to it any more.
    inflight = 3,  ///< Kept for a use that never came.
    fail = 4,      ///< An item of a chunk that was committed before has no result.
    adopted = 5,   ///< As commit: its bytes were copied from an earlier attempt.
};

/// One line of the journal, as it lies on disk, little-endian. Of a fail, `offset` is the item's number and `items` the
/// chunk's. Of a seal, `chunk` is the part's first, `offset` is 0 and `length`, `checksum`, `items` and `nonfinite` are
/// those of the whole part, its header included.
struct JournalEntry {
    static constexpr std::size_t bytes = 64;

    std::uint32_t magic = 0x314A4C53;  ///< "SLJ1"
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
    std::uint32_t crc = 0;  ///< On disk: CRC-32C of all before it.

    friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

[[nodiscard]] std::array<std::byte, JournalEntry::bytes> encode(JournalEntry entry);

/// nullopt: `bytes`, JournalEntry::bytes long, are no entry.
[[nodiscard]] std::optional<JournalEntry> decode_journal_entry(std::span<const std::byte> bytes);

enum class Durability {
    node,     ///< What is committed survives the loss of power.
    process,  ///< It survives the end of the process, however it ends; sealed and published parts survive all the same.
};

/// The list of what one attempt has finished. It only grows, and only by whole groups of entries.
class Journal {
public:
    /// Creates the file.
    Journal(const std::filesystem::path& path, std::uint32_t attempt);

    /// Sets the entries' attempt and sequence, appends them in one write, and syncs for Durability::node.
    void append(std::span<JournalEntry> entries, Durability durability);

private:
    File file_;
    std::uint32_t attempt_;
    std::uint32_t next_ = 0;
};

/// The valid entries of a journal: the longest beginning in which every entry is whole, of `attempt`, and next in
/// sequence. What follows is never read, nor repaired.
struct JournalPrefix {
    std::vector<JournalEntry> entries;
    std::uint64_t bytes = 0;    ///< Of those.
    std::uint64_t ignored = 0;  ///< Bytes after them.
};

/// Of the journal whose bytes these are.
[[nodiscard]] JournalPrefix decode_journal(std::span<const std::byte> bytes, std::uint32_t attempt);

/// Empty when there is no such file.
[[nodiscard]] JournalPrefix read_journal(const std::filesystem::path& path, std::uint32_t attempt);

}  // namespace sluice
