#include "core/commit/earlier_epochs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/checksum.hpp"
#include "core/commit/owner.hpp"
#include "core/fault_point.hpp"

namespace sluice {
namespace {

constexpr std::size_t read_at_once = std::size_t{1} << 20;

/// A block that the disk does not give back is as good as a damaged one.
template <class Read>
bool can_be_read(Read&& read) {
    try {
        return read();
    } catch (const UnreadableFile&) {
        return false;
    }
}

/// A record that is whole may still be of another plan, if somebody has moved files about.
bool fits(const JournalRecord& record, const PartPlan& plan) {
    if (record.type == RecordType::seal) {
        return record.part < plan.parts() && record.chunk == plan.first_chunk(record.part) &&
               record.items == plan.items_of(record.part);
    }
    return record.chunk < plan.grid().chunks() && record.part == plan.part_of(record.chunk) &&
           record.items == plan.grid().at(record.chunk).count;
}

std::optional<Owner> readable_owner(const std::filesystem::path& epoch) {
    std::optional<Owner> owner;
    static_cast<void>(can_be_read([&] { return (owner = read_owner(epoch)).has_value(); }));
    return owner;
}

/// Test builds only: no checksum, and zeros where nothing is.
bool believe_record(const File& part, const JournalRecord& record, std::vector<std::byte>& to) {
    to.assign(static_cast<std::size_t>(record.length), std::byte{0});
    const std::uint64_t there = part.size() - std::min(part.size(), record.offset);
    return part.read_at(record.offset, std::span(to).first(std::min<std::size_t>(to.size(), there)));
}

bool holds(const Chunk& chunk, std::uint64_t item) {
    return item >= chunk.first && item - chunk.first < chunk.count;
}

}  // namespace

EpochRecords read_epoch(const RunPaths& paths, std::uint32_t epoch, const PartPlan& plan, const std::string& run) {
    EpochRecords found{.epoch = epoch, .folder = paths.epoch(epoch)};
    const JournalPrefix journal = read_journal(journal_file(found.folder), epoch);
    const std::optional<Owner> owner = readable_owner(found.folder);
    if (!owner || (!owner->run.empty() && owner->run != run)) {
        if (!journal.records.empty()) {
            found.dropped = fmt::format("attempt {} is ignored: its owner.json is {}", epoch,
                                        owner ? "another run's" : "damaged or missing");
        }
        return found;
    }
    found.journal_bytes = journal.bytes;
    for (const JournalRecord& record : journal.records) {
        if (!fits(record, plan)) {
            continue;
        }
        if (record.type == RecordType::seal) {
            found.seals.emplace(record.part, sealed_part(record));
        } else if (record.type == RecordType::commit || record.type == RecordType::adopted) {
            found.chunks.emplace(record.chunk, record);
        } else if (record.type == RecordType::fail && holds(plan.grid().at(record.chunk), record.offset)) {
            found.failed.emplace(record.chunk, record);
        }
    }
    if (journal.ignored != 0) {
        found.dropped = fmt::format("dropped {} bytes of the journal of attempt {} after its {} valid records",
                                    journal.ignored, epoch, journal.records.size());
    }
    return found;
}

bool matches_seal(const std::filesystem::path& path, const SealedPart& seal, bool read_all) {
    const auto status = status_of(path);
    if (!status || !S_ISREG(status->st_mode) || static_cast<std::uint64_t>(status->st_size) != seal.bytes) {
        return false;
    }
    return !read_all || can_be_read([&] { return checksum_in(File::open(path), 0, seal.bytes) == seal.checksum; });
}

bool read_chunk(const File& part, const JournalRecord& record, std::vector<std::byte>& to) {
    if (is_broken("journal-first")) {
        return believe_record(part, record, to);
    }
    const std::uint64_t size = part.size();
    if (record.offset > size || record.length > size - record.offset) {
        return false;
    }
    to.resize(static_cast<std::size_t>(record.length));
    return can_be_read([&] { return part.read_at(record.offset, to) && checksum_of(to) == record.checksum; });
}

std::optional<std::uint64_t> checksum_in(const File& file, std::uint64_t offset, std::uint64_t bytes) {
    Checksum checksum;
    std::vector<std::byte> block(static_cast<std::size_t>(std::min<std::uint64_t>(read_at_once, bytes)));
    while (bytes > 0) {
        const auto piece =
            std::span(block).first(static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), bytes)));
        if (!file.read_at(offset, piece)) {
            return std::nullopt;
        }
        checksum.add(std::span<const std::byte>(piece));
        offset += piece.size();
        bytes -= piece.size();
    }
    return checksum.value();
}

}  // namespace sluice
