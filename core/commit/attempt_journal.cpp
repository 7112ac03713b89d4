#include "core/commit/attempt_journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/commit/owner.hpp"
#include "core/files/checksum.hpp"
#include "core/process/fault_point.hpp"

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

/// An entry that is whole may still be of another plan, if somebody has moved files about.
bool fits(const JournalEntry& entry, const PartPlan& plan) {
    if (entry.type == EntryType::seal) {
        return entry.part < plan.parts() && entry.chunk == plan.first_chunk(entry.part) &&
               entry.items == plan.items_of(entry.part);
    }
    return entry.chunk < plan.grid().chunks() && entry.part == plan.part_of(entry.chunk) &&
           entry.items == plan.grid().at(entry.chunk).count;
}

std::optional<Owner> readable_owner(const std::filesystem::path& attempt) {
    std::optional<Owner> owner;
    static_cast<void>(can_be_read([&] { return (owner = read_owner(attempt)).has_value(); }));
    return owner;
}

/// Test builds only: no checksum, and zeros where nothing is.
bool believe_entry(const File& part, const JournalEntry& entry, std::vector<std::byte>& to) {
    to.assign(static_cast<std::size_t>(entry.length), std::byte{0});
    const std::uint64_t there = part.size() - std::min(part.size(), entry.offset);
    return part.read_at(entry.offset, std::span(to).first(std::min<std::size_t>(to.size(), there)));
}

bool holds(const Chunk& chunk, std::uint64_t item) {
    return item >= chunk.first && item - chunk.first < chunk.count;
}

}  // namespace

AttemptJournal read_attempt_journal(const RunPaths& paths, std::uint32_t attempt, const PartPlan& plan,
                                    const std::string& run) {
    AttemptJournal found{.attempt = attempt, .folder = paths.attempt(attempt)};
    const JournalPrefix journal = read_journal(journal_file(found.folder), attempt);
    const std::optional<Owner> owner = readable_owner(found.folder);
    if (!owner || (!owner->run.empty() && owner->run != run)) {
        if (!journal.entries.empty()) {
            found.dropped = fmt::format("attempt {} is ignored: its owner.json is {}", attempt,
                                        owner ? "another run's" : "damaged or missing");
        }
        return found;
    }
    found.journal_bytes = journal.bytes;
    for (const JournalEntry& entry : journal.entries) {
        if (!fits(entry, plan)) {
            continue;
        }
        if (entry.type == EntryType::seal) {
            found.seals.emplace(entry.part, sealed_part(entry));
        } else if (entry.type == EntryType::commit || entry.type == EntryType::adopted) {
            found.chunks.emplace(entry.chunk, entry);
        } else if (entry.type == EntryType::fail && holds(plan.grid().at(entry.chunk), entry.offset)) {
            found.failed.emplace(entry.chunk, entry);
        }
    }
    if (journal.ignored != 0) {
        found.dropped = fmt::format("dropped {} bytes of the journal of attempt {} after its {} valid entries",
                                    journal.ignored, attempt, journal.entries.size());
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

bool read_chunk(const File& part, const JournalEntry& entry, std::vector<std::byte>& to) {
    if (is_broken("journal-first")) {
        return believe_entry(part, entry, to);
    }
    const std::uint64_t size = part.size();
    if (entry.offset > size || entry.length > size - entry.offset) {
        return false;
    }
    to.resize(static_cast<std::size_t>(entry.length));
    return can_be_read([&] { return part.read_at(entry.offset, to) && checksum_of(to) == entry.checksum; });
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
