#include "core/commit/journal.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/error.hpp"
#include "core/files/checksum.hpp"
#include "core/process/fault_point.hpp"

namespace sluice {
namespace {

constexpr std::size_t disk_block_bytes = 4096;  // what a disk loses at once

static_assert(std::endian::native == std::endian::little, "entries are little-endian and copied as they lie");
static_assert(sizeof(JournalEntry) == JournalEntry::bytes && std::has_unique_object_representations_v<JournalEntry> &&
              offsetof(JournalEntry, crc) == JournalEntry::bytes - sizeof(JournalEntry::crc));

std::uint32_t crc_of(const JournalEntry& entry) {
    return crc32c(std::as_bytes(std::span(&entry, 1)).first(offsetof(JournalEntry, crc)));
}

/// Adds the valid entries that `bytes` begins with. Returns whether all of it is valid.
bool add_entries(JournalPrefix& prefix, std::span<const std::byte> bytes, std::uint32_t attempt) {
    for (; bytes.size() >= JournalEntry::bytes; bytes = bytes.subspan(JournalEntry::bytes)) {
        const std::optional<JournalEntry> entry = decode_journal_entry(bytes.first(JournalEntry::bytes));
        if (!entry || entry->attempt != attempt || entry->sequence != prefix.entries.size()) {
            return false;
        }
        prefix.entries.push_back(*entry);
        prefix.bytes += JournalEntry::bytes;
    }
    return bytes.empty();
}

}  // namespace

std::array<std::byte, JournalEntry::bytes> encode(JournalEntry entry) {
    entry.crc = crc_of(entry);
    return std::bit_cast<std::array<std::byte, JournalEntry::bytes>>(entry);
}

std::optional<JournalEntry> decode_journal_entry(std::span<const std::byte> bytes) {
    expects(bytes.size() == JournalEntry::bytes, "a journal's entry has its size");
    JournalEntry entry;
    std::memcpy(&entry, bytes.data(), sizeof entry);
    const bool known = entry.type >= EntryType::commit && entry.type <= EntryType::adopted;
    if (entry.magic != JournalEntry().magic || !known || entry.crc != crc_of(entry)) {
        return std::nullopt;
    }
    entry.crc = 0;
    return entry;
}

Journal::Journal(const std::filesystem::path& path, std::uint32_t attempt)
    : file_(File::create(path)), attempt_(attempt) {}

void Journal::append(std::span<JournalEntry> entries, Durability durability) {
    expects(entries.size() < std::numeric_limits<std::uint32_t>::max() - next_,
            "a journal has fewer than 2^32 entries");
    std::vector<std::byte> bytes;
    bytes.reserve(entries.size() * JournalEntry::bytes);
    const std::uint64_t offset = std::uint64_t{next_} * JournalEntry::bytes;
    for (JournalEntry& entry : entries) {
        entry.attempt = attempt_;
        entry.sequence = next_++;
        const auto encoded = encode(entry);
        bytes.insert(bytes.end(), encoded.begin(), encoded.end());
    }
    // A test can stop inside of an entry.
    const std::size_t first = has_fault_hooks() ? bytes.size() / 2 + 7 : bytes.size();
    const std::span<const std::byte> all(bytes);
    file_.write_at(offset, all.first(std::min(first, all.size())));
    if (has_fault_hooks() && first < all.size()) {
        fault_point("jrn.half");
        file_.write_at(offset + first, all.subspan(first));
    }
    fault_point("jrn.written");
    if (durability == Durability::node) {
        file_.sync_data();
    }
    fault_point("jrn.synced");
}

JournalPrefix read_journal(const std::filesystem::path& path, std::uint32_t attempt) {
    const std::optional<File> file = File::open_if_there(path);
    if (!file) {
        return {};
    }
    // Its owner may still write to it: what is there now is what counts, up to the first block that is not intact,
    // whatever the file's size.
    static_assert(disk_block_bytes % JournalEntry::bytes == 0);
    const std::uint64_t size = file->size();
    std::vector<std::byte> block(disk_block_bytes);
    JournalPrefix prefix;
    try {
        for (std::uint64_t done = 0; done < size; done += block.size()) {
            block.resize(static_cast<std::size_t>(std::min<std::uint64_t>(disk_block_bytes, size - done)));
            if (!file->read_at(done, block)) {
                fail_on_file(path, "read to its end", EIO);
            }
            if (!add_entries(prefix, block, attempt)) {
                break;
            }
        }
    } catch (const UnreadableFile&) {  // what is before counts
    }
    prefix.ignored = size - prefix.bytes;
    return prefix;
}

}  // namespace sluice
