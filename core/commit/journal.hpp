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

/// 3 is reserved: readers pass over it.
enum class EntryType : std::uint16_t {
    commit = 1,   ///< A chunk's bytes are in the part's file and synced.
    seal = 2,     ///< All chunks of a part are; it is no longer written.
    fail = 4,     ///< An item of a committed chunk has no result.
    adopted = 5,  ///< As commit, with bytes copied from an earlier attempt.
};

/// An entry of the journal, in its layout on disk, little-endian. In a fail entry, `offset` is the item's number and
/// `items` the chunk's items. In a seal entry, `chunk` is the part's first, `offset` is 0, and `length`, `checksum`,
/// `items` and `nonfinite` are those of the whole part, including its header.
struct JournalEntry {
    static constexpr std::size_t bytes = 64;

    std::uint32_t magic = 0x314A4C53;  ///< "SLJ1"
    EntryType type = EntryType::commit;
    std::uint16_t reserved = 0;
    std::uint32_t attempt = 0;
    std::uint32_t sequence = 0;  ///< From 0, without gaps.
    std::uint64_t chunk = 0;
    std::uint32_t part = 0;
    std::uint32_t items = 0;
    std::uint64_t offset = 0;    ///< In the part's file, in bytes.
    std::uint64_t length = 0;    ///< In bytes.
    std::uint64_t checksum = 0;  ///< XXH3-64 of the bytes.
    std::uint32_t nonfinite = 0;
    std::uint32_t crc = 0;  ///< On disk: CRC-32C of everything before it.

    friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

[[nodiscard]] std::array<std::byte, JournalEntry::bytes> encode(JournalEntry entry);

/// `bytes`: JournalEntry::bytes of them. nullopt: not a valid entry.
[[nodiscard]] std::optional<JournalEntry> decode_journal_entry(std::span<const std::byte> bytes);

enum class Durability {
    node,     ///< Committed chunks survive a loss of power.
    process,  ///< They survive any end of the process; sealed and published parts survive a loss of power too.
};

/// List of what an attempt has finished. Append-only, in whole groups of entries.
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

/// Valid entries of a journal: the longest prefix of intact entries of the attempt, in sequence. The rest is neither
/// read nor repaired.
struct JournalPrefix {
    std::vector<JournalEntry> entries;
    std::uint64_t bytes = 0;    ///< Of these entries.
    std::uint64_t ignored = 0;  ///< Bytes after them.
};

/// Empty if the file does not exist.
[[nodiscard]] JournalPrefix read_journal(const std::filesystem::path& path, std::uint32_t attempt);

}  // namespace sluice
