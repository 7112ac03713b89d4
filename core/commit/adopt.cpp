#include "core/commit/adopt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/commit/attempt_journal.hpp"
#include "core/commit/json_text.hpp"
#include "core/commit/place_file.hpp"
#include "core/error.hpp"
#include "core/process/fault_point.hpp"

namespace sluice {
namespace {

class Adoption {
public:
    Adoption(const AttemptFolder& attempt, const PartPlan& plan, const FileHeader& header, ResumeVerify verify)
        : attempt_(attempt), plan_(plan), header_(header), verify_(verify) {
        for (const std::uint32_t number : attempts_of(attempt.paths())) {
            if (number < attempt.number()) {
                earlier_.push_back(read_attempt_journal(attempt.paths(), number, plan, attempt.owner().run));
            }
        }
        std::reverse(earlier_.begin(), earlier_.end());  // the newest has taken over what the others had
        for (const AttemptJournal& earlier : earlier_) {
            if (!earlier.dropped.empty()) {
                adopted_.dropped.push_back(earlier.dropped);
            }
        }
    }

    /// Which journals count, and how far.
    void list() const {
        Json accepted = Json::array();
        for (const AttemptJournal& earlier : earlier_) {
            accepted.push_back({{"attempt", earlier.attempt},
                                {"journal", journal_file(earlier.folder).filename().native()},
                                {"bytes", earlier.journal_bytes}});
        }
        write_text_durably(attempt_.folder() / "adopt.json",
                           sealed_text({{"format", "sluice adoption"}, {"version", 1}, {"accepted", accepted}}));
        fault_point("adopt.listed");
    }

    void take_sealed_parts() {
        for (std::uint32_t part = 0; part < plan_.parts() && take_sealed_part(part); ++part) {
        }
    }

    void copy_open_part() {
        const auto part = static_cast<std::uint32_t>(adopted_.sealed.size());
        if (part == plan_.parts()) {
            return;
        }
        for (std::uint64_t chunk = plan_.first_chunk(part); chunk < plan_.end_chunk(part); ++chunk) {
            if (!copy_chunk(part, chunk)) {
                break;
            }
            adopted_.chunks = chunk + 1;
        }
        fault_point("adopt.copied");
    }

    /// Makes it this attempt's own.
    Adopted commit(Journal& journal) {
        if (adopted_.open && adopted_.chunks == plan_.end_chunk(adopted_.open->part())) {
            adopted_.sealed.push_back(adopted_.open->seal());
            entries_.push_back(seal_entry(adopted_.sealed.back(), plan_.first_chunk(adopted_.open->part())));
            adopted_.open.reset();
        } else if (adopted_.open) {
            adopted_.open->sync_data();
        }
        sync_folder(attempt_.folder());
        if (!entries_.empty()) {
            journal.append(entries_, Durability::node);
        }
        return std::move(adopted_);
    }

private:
    bool take_sealed_part(std::uint32_t part) {
        for (const AttemptJournal& earlier : earlier_) {
            const auto seal = earlier.seals.find(part);
            if (seal == earlier.seals.end()) {
                continue;
            }
            const std::filesystem::path from = part_file(earlier.folder, part);
            if (!status_of(from)) {
                note_gone(part, earlier.attempt);
                continue;
            }
            const bool is_intact = matches_seal(from, seal->second, verify_ == ResumeVerify::all);
            if (!is_intact || !take_file(from, part)) {
                adopted_.damaged_parts.push_back(fmt::format("part {} of attempt {} {} and will be recomputed", part,
                                                             earlier.attempt,
                                                             is_intact ? "cannot be read" : "is damaged"));
                continue;
            }
            adopted_.sealed.push_back(seal->second);
            adopted_.chunks = plan_.end_chunk(part);
            entries_.push_back(seal_entry(seal->second, plan_.first_chunk(part)));
            take_failed_items(earlier, plan_.first_chunk(part), plan_.end_chunk(part));
            return true;
        }
        return false;
    }

    /// Nothing is wrong with it: data goes when it was published, or when a later attempt has taken it over.
    void note_gone(std::uint32_t part, std::uint32_t attempt) {
        std::string line = fmt::format("part {} of attempt {} is missing and will be recomputed", part, attempt);
        if (std::ranges::find(adopted_.dropped, line) == adopted_.dropped.end()) {
            adopted_.dropped.push_back(std::move(line));
        }
    }

    /// False: it would have to be copied, and cannot be read.
    [[nodiscard]] bool take_file(const std::filesystem::path& from, std::uint32_t part) const {
        try {
            expects(place_file(from, part_file(attempt_.folder(), part), attempt_.folder()) != Placed::differs,
                    "an attempt's folder is its own");
            return true;
        } catch (const UnreadableFile&) {
            return false;
        }
    }

    bool copy_chunk(std::uint32_t part, std::uint64_t chunk) {
        for (const AttemptJournal& earlier : earlier_) {
            const auto found = earlier.chunks.find(chunk);
            if (found != earlier.chunks.end() && copy_entry(part, earlier, found->second)) {
                return true;
            }
        }
        return false;
    }

    bool copy_entry(std::uint32_t part, const AttemptJournal& earlier, const JournalEntry& entry) {
        const bool is_read = read_payload(earlier, entry);
        if (!source_) {
            note_gone(part, earlier.attempt);
            return false;
        }
        if (!is_read) {
            adopted_.dropped.push_back(
                fmt::format("chunk {} of attempt {} is damaged and will be recomputed", entry.chunk, earlier.attempt));
            return false;
        }
        if (!adopted_.open) {
            adopted_.open.emplace(part_file(attempt_.folder(), part), part,
                                  part_header(header_, plan_, attempt_.paths().layout, part));
        }
        entries_.push_back(adopted_.open->append(
            {.chunk = entry.chunk, .items = entry.items, .nonfinite = entry.nonfinite, .bytes = payload_},
            EntryType::adopted));
        take_failed_items(earlier, entry.chunk, entry.chunk + 1);
        return true;
    }

    /// Of chunks whose bytes are that attempt's.
    void take_failed_items(const AttemptJournal& earlier, std::uint64_t first, std::uint64_t end) {
        for (auto failed = earlier.failed.lower_bound(first); failed != earlier.failed.lower_bound(end); ++failed) {
            entries_.push_back(failed->second);
            adopted_.failed_items.push_back(failed->second.offset);
        }
    }

    /// Whether the chunk's bytes are there and have their checksum.
    bool read_payload(const AttemptJournal& earlier, const JournalEntry& entry) {
        const std::filesystem::path path = part_file(earlier.folder, entry.part);
        if (!source_ || source_->path() != path) {
            source_ = File::open_if_there(path);
        }
        return source_ && read_chunk(*source_, entry, payload_);
    }

    const AttemptFolder& attempt_;
    const PartPlan& plan_;
    const FileHeader& header_;
    ResumeVerify verify_;
    std::vector<AttemptJournal> earlier_;  // the newest first
    std::optional<File> source_;           // the file read last
    std::vector<std::byte> payload_;
    std::vector<JournalEntry> entries_;
    Adopted adopted_;
};

}  // namespace

Adopted adopt(const AttemptFolder& attempt, Journal& journal, const PartPlan& plan, const FileHeader& header,
              ResumeVerify verify) {
    Adoption adoption(attempt, plan, header, verify);
    adoption.list();
    adoption.take_sealed_parts();
    adoption.copy_open_part();
    return adoption.commit(journal);
}

}  // namespace sluice
