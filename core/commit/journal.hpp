#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "core/commit/file.hpp"
#include "core/commit/journal_entry.hpp"

namespace sluice {

enum class Durability {
    node,     ///< What is committed survives the loss of power.
    process,  ///< It survives the end of the process, however it ends; sealed and published parts survive all the same.
};

/// The list of what one attempt has finished. It only grows, and only by whole groups of entries.
class Journal {
public:
    /// Creates the file.
    Journal(const std::filesystem::path& path, std::uint32_t attempt, Durability durability);

    /// Sets the entries' attempt and sequence, appends them in one write, and syncs.
    void append(std::span<JournalEntry> entries);

    /// The same, synced whatever the durability.
    void append_durably(std::span<JournalEntry> entries);

private:
    void write(std::span<JournalEntry> entries);

    File file_;
    std::uint32_t attempt_;
    Durability durability_;
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
