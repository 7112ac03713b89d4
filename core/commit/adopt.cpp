#include "core/commit/adopt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/commit/earlier_epochs.hpp"
#include "core/commit/json_text.hpp"
#include "core/commit/place_file.hpp"
#include "core/error.hpp"
#include "core/fault_point.hpp"

namespace sluice {
namespace {

class Adoption {
public:
    Adoption(const Epoch& epoch, const PartPlan& plan, const FileHeader& header, ResumeVerify verify)
        : epoch_(epoch), plan_(plan), header_(header), verify_(verify) {
        for (const std::uint32_t number : epochs_of(epoch.paths())) {
            if (number < epoch.number()) {
                earlier_.push_back(read_epoch(epoch.paths(), number, plan, epoch.owner().run));
            }
        }
        std::reverse(earlier_.begin(), earlier_.end());  // the newest has taken over what the others had
        for (const EpochRecords& records : earlier_) {
            if (!records.dropped.empty()) {
                adopted_.dropped.push_back(records.dropped);
            }
        }
    }

    /// Which journals count, and how far.
    void list() const {
        Json accepted = Json::array();
        for (const EpochRecords& records : earlier_) {
            accepted.push_back({{"epoch", records.epoch},
                                {"journal", journal_file(records.folder).filename().native()},
                                {"bytes", records.journal_bytes}});
        }
        write_text_durably(epoch_.folder() / "adopt.json",
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

    /// Makes it this epoch's own.
    Adopted commit(Journal& journal) {
        if (adopted_.open && adopted_.chunks == plan_.end_chunk(adopted_.open->part())) {
            adopted_.sealed.push_back(adopted_.open->seal());
            records_.push_back(seal_record(adopted_.sealed.back(), plan_.first_chunk(adopted_.open->part())));
            adopted_.open.reset();
        } else if (adopted_.open) {
            adopted_.open->sync_data();
        }
        sync_folder(epoch_.folder());
        if (!records_.empty()) {
            journal.append_durably(records_);
        }
        return std::move(adopted_);
    }

private:
    bool take_sealed_part(std::uint32_t part) {
        for (const EpochRecords& records : earlier_) {
            const auto seal = records.seals.find(part);
            if (seal == records.seals.end()) {
                continue;
            }
            const std::filesystem::path from = part_file(records.folder, part);
            if (!status_of(from)) {
                note_gone(part, records.epoch);
                continue;
            }
            if (!matches_seal(from, seal->second, verify_ == ResumeVerify::all)) {
                adopted_.damaged_parts.push_back(
                    fmt::format("part {} of attempt {} is damaged and will be recomputed", part, records.epoch));
                continue;
            }
            if (!take_file(from, part)) {
                adopted_.damaged_parts.push_back(
                    fmt::format("part {} of attempt {} cannot be read and will be recomputed", part, records.epoch));
                continue;
            }
            adopted_.sealed.push_back(seal->second);
            adopted_.chunks = plan_.end_chunk(part);
            records_.push_back(seal_record(seal->second, plan_.first_chunk(part)));
            take_failed_items(records, plan_.first_chunk(part), plan_.end_chunk(part));
            return true;
        }
        return false;
    }

    /// Nothing is wrong with it: data goes when it was published, or when a later attempt has taken it over.
    void note_gone(std::uint32_t part, std::uint32_t epoch) {
        std::string line = fmt::format("part {} of attempt {} is missing and will be recomputed", part, epoch);
        if (std::ranges::find(adopted_.dropped, line) == adopted_.dropped.end()) {
            adopted_.dropped.push_back(std::move(line));
        }
    }

    /// False: it would have to be copied, and cannot be read.
    [[nodiscard]] bool take_file(const std::filesystem::path& from, std::uint32_t part) const {
        try {
            expects(place_file(from, part_file(epoch_.folder(), part), epoch_.folder()) != Placed::differs,
                    "an epoch's folder is its own");
            return true;
        } catch (const UnreadableFile&) {
            return false;
        }
    }

    bool copy_chunk(std::uint32_t part, std::uint64_t chunk) {
        for (const EpochRecords& records : earlier_) {
            const auto found = records.chunks.find(chunk);
            if (found != records.chunks.end() && copy_record(part, records, found->second)) {
                return true;
            }
        }
        return false;
    }

    bool copy_record(std::uint32_t part, const EpochRecords& records, const JournalRecord& record) {
        const bool is_read = read_payload(records, record);
        if (!source_) {
            note_gone(part, records.epoch);
            return false;
        }
        if (!is_read) {
            adopted_.dropped.push_back(
                fmt::format("chunk {} of attempt {} is damaged and will be recomputed", record.chunk, records.epoch));
            return false;
        }
        if (!adopted_.open) {
            adopted_.open.emplace(part_file(epoch_.folder(), part), part,
                                  part_header(header_, plan_, epoch_.paths().layout, part));
        }
        records_.push_back(adopted_.open->append(
            {.chunk = record.chunk, .items = record.items, .nonfinite = record.nonfinite, .bytes = payload_},
            RecordType::adopted));
        take_failed_items(records, record.chunk, record.chunk + 1);
        return true;
    }

    /// Of chunks whose bytes are that epoch's.
    void take_failed_items(const EpochRecords& records, std::uint64_t first, std::uint64_t end) {
        for (auto failed = records.failed.lower_bound(first); failed != records.failed.lower_bound(end); ++failed) {
            records_.push_back(failed->second);
            adopted_.failed_items.push_back(failed->second.offset);
        }
    }

    /// Whether the chunk's bytes are there and have their checksum.
    bool read_payload(const EpochRecords& records, const JournalRecord& record) {
        const std::filesystem::path path = part_file(records.folder, record.part);
        if (!source_ || source_->path() != path) {
            source_ = File::open_if_there(path);
        }
        return source_ && read_chunk(*source_, record, payload_);
    }

    const Epoch& epoch_;
    const PartPlan& plan_;
    const FileHeader& header_;
    ResumeVerify verify_;
    std::vector<EpochRecords> earlier_;  // the newest first
    std::optional<File> source_;         // the file read last
    std::vector<std::byte> payload_;
    std::vector<JournalRecord> records_;
    Adopted adopted_;
};

}  // namespace

Adopted adopt(const Epoch& epoch, Journal& journal, const PartPlan& plan, const FileHeader& header,
              ResumeVerify verify) {
    Adoption adoption(epoch, plan, header, verify);
    adoption.list();
    adoption.take_sealed_parts();
    adoption.copy_open_part();
    return adoption.commit(journal);
}

}  // namespace sluice
