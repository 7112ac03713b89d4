#include "core/commit/journal_entry.hpp"

#include <bit>
#include <cstring>

#include "core/checksum.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

static_assert(std::endian::native == std::endian::little, "entries are little-endian and copied as they lie");

constexpr std::uint32_t magic = 0x314A4C53;  // "SLJ1"

struct Layout {
    std::uint32_t magic;
    std::uint16_t type;
    std::uint16_t file;
    std::uint32_t attempt;
    std::uint32_t sequence;
    std::uint64_t chunk;
    std::uint32_t part;
    std::uint32_t items;
    std::uint64_t offset;
    std::uint64_t length;
    std::uint64_t checksum;
    std::uint32_t nonfinite;
    std::uint32_t crc;
};
static_assert(sizeof(Layout) == JournalEntry::bytes && offsetof(Layout, crc) == JournalEntry::bytes - 4);

std::uint32_t crc_of(const Layout& layout) {
    return crc32c(std::as_bytes(std::span(&layout, 1)).first(offsetof(Layout, crc)));
}

}  // namespace

std::array<std::byte, JournalEntry::bytes> encode(const JournalEntry& entry) {
    Layout layout{.magic = magic,
                  .type = static_cast<std::uint16_t>(entry.type),
                  .file = entry.file,
                  .attempt = entry.attempt,
                  .sequence = entry.sequence,
                  .chunk = entry.chunk,
                  .part = entry.part,
                  .items = entry.items,
                  .offset = entry.offset,
                  .length = entry.length,
                  .checksum = entry.checksum,
                  .nonfinite = entry.nonfinite,
                  .crc = 0};
    layout.crc = crc_of(layout);
    return std::bit_cast<std::array<std::byte, JournalEntry::bytes>>(layout);
}

std::optional<JournalEntry> decode_journal_entry(std::span<const std::byte> bytes) {
    expects(bytes.size() == JournalEntry::bytes, "a journal's entry has its size");
    Layout layout{};
    std::memcpy(&layout, bytes.data(), sizeof layout);
    const bool known = layout.type >= static_cast<std::uint16_t>(EntryType::commit) &&
                       layout.type <= static_cast<std::uint16_t>(EntryType::adopted);
    if (layout.magic != magic || !known || layout.crc != crc_of(layout)) {
        return std::nullopt;
    }
    return JournalEntry{.type = static_cast<EntryType>(layout.type),
                        .file = layout.file,
                        .attempt = layout.attempt,
                        .sequence = layout.sequence,
                        .chunk = layout.chunk,
                        .part = layout.part,
                        .items = layout.items,
                        .offset = layout.offset,
                        .length = layout.length,
                        .checksum = layout.checksum,
                        .nonfinite = layout.nonfinite};
}

}  // namespace sluice
