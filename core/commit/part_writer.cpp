#include "core/commit/part_writer.hpp"

#include <limits>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t sent_at_once = std::uint64_t{8} << 20;

std::uint32_t narrow(std::uint64_t count) {
    // A part of several chunks has at most 512 MiB or so, a chunk at most 2^32 - 1 items.
    expects(count <= std::numeric_limits<std::uint32_t>::max(), "a part has fewer than 2^32 items");
    return static_cast<std::uint32_t>(count);
}

}  // namespace

JournalEntry seal_entry(const SealedPart& part, std::uint64_t first_chunk) {
    return {.type = EntryType::seal,
            .chunk = first_chunk,
            .part = part.part,
            .items = narrow(part.items),
            .length = part.bytes,
            .checksum = part.checksum,
            .nonfinite = narrow(part.nonfinite)};
}

SealedPart sealed_part(const JournalEntry& seal) {
    return {.part = seal.part,
            .bytes = seal.length,
            .checksum = seal.checksum,
            .items = seal.items,
            .nonfinite = seal.nonfinite};
}

JournalEntry fail_entry(const JournalEntry& chunk, std::uint64_t item) {
    return {.type = EntryType::fail, .chunk = chunk.chunk, .part = chunk.part, .items = chunk.items, .offset = item};
}

PartWriter::PartWriter(const std::filesystem::path& path, std::uint32_t part, std::string_view header)
    : file_(File::create(path)), sealed_{.part = part} {
    file_.write_at(0, header);
    checksum_.add(header);
    sealed_.bytes = header.size();
}

JournalEntry PartWriter::entry_of(const ChunkBytes& chunk, EntryType type) const {
    return {.type = type,
            .chunk = chunk.chunk,
            .part = sealed_.part,
            .items = chunk.items,
            .offset = sealed_.bytes,
            .length = chunk.bytes.size(),
            .checksum = checksum_of(chunk.bytes),
            .nonfinite = chunk.nonfinite};
}

JournalEntry PartWriter::append(const ChunkBytes& chunk, EntryType type) {
    const JournalEntry entry = entry_of(chunk, type);
    file_.write_at(sealed_.bytes, chunk.bytes);
    checksum_.add(chunk.bytes);
    sealed_.bytes += chunk.bytes.size();
    sealed_.items += chunk.items;
    sealed_.nonfinite += chunk.nonfinite;
    if (sealed_.bytes - sent_ >= sent_at_once) {
        file_.start_writing_back(sent_, sealed_.bytes - sent_);
        sent_ = sealed_.bytes;
    }
    return entry;
}

SealedPart PartWriter::seal() {
    file_.sync();
    file_.close();
    sealed_.checksum = checksum_.value();
    return sealed_;
}

}  // namespace sluice
