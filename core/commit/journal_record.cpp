#include "core/commit/journal_record.hpp"

#include <bit>
#include <cstring>

#include "core/commit/crc32c.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

static_assert(std::endian::native == std::endian::little, "records are little-endian and copied as they lie");

constexpr std::uint32_t magic = 0x314A4C53;  // "SLJ1"

struct Layout {
    std::uint32_t magic;
    std::uint16_t type;
    std::uint16_t file;
    std::uint32_t epoch;
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
static_assert(sizeof(Layout) == JournalRecord::bytes && offsetof(Layout, crc) == JournalRecord::bytes - 4);

std::uint32_t crc_of(const Layout& layout) {
    return crc32c(std::as_bytes(std::span(&layout, 1)).first(offsetof(Layout, crc)));
}

}  // namespace

std::array<std::byte, JournalRecord::bytes> encode(const JournalRecord& record) {
    Layout layout{.magic = magic,
                  .type = static_cast<std::uint16_t>(record.type),
                  .file = record.file,
                  .epoch = record.epoch,
                  .sequence = record.sequence,
                  .chunk = record.chunk,
                  .part = record.part,
                  .items = record.items,
                  .offset = record.offset,
                  .length = record.length,
                  .checksum = record.checksum,
                  .nonfinite = record.nonfinite,
                  .crc = 0};
    layout.crc = crc_of(layout);
    return std::bit_cast<std::array<std::byte, JournalRecord::bytes>>(layout);
}

std::optional<JournalRecord> decode_journal_record(std::span<const std::byte> bytes) {
    expects(bytes.size() == JournalRecord::bytes, "a journal's record has its size");
    Layout layout{};
    std::memcpy(&layout, bytes.data(), sizeof layout);
    const bool known = layout.type >= static_cast<std::uint16_t>(RecordType::commit) &&
                       layout.type <= static_cast<std::uint16_t>(RecordType::adopted);
    if (layout.magic != magic || !known || layout.crc != crc_of(layout)) {
        return std::nullopt;
    }
    return JournalRecord{.type = static_cast<RecordType>(layout.type),
                         .file = layout.file,
                         .epoch = layout.epoch,
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
