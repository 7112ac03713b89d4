#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/commit/attempt_folder.hpp"
#include "core/commit/journal.hpp"
#include "core/commit/part_plan.hpp"
#include "core/commit/part_writer.hpp"

namespace sluice {

/// What another attempt has finished according to its journal: the valid entries that fit the job.
struct AttemptJournal {
    std::uint32_t attempt = 0;
    std::filesystem::path folder{};
    std::uint64_t journal_bytes = 0;                      ///< Length of the valid entries.
    std::map<std::uint32_t, SealedPart> seals{};          ///< By part.
    std::map<std::uint64_t, JournalEntry> chunks{};       ///< By chunk; the first entry of each.
    std::multimap<std::uint64_t, JournalEntry> failed{};  ///< By chunk: its items without a result.
    std::string dropped{};                                ///< Describes the invalid part of the journal; empty: none.
};

/// Empty if the attempt, by its owner.json, belongs to another run than that with the fingerprint `run`.
[[nodiscard]] AttemptJournal read_attempt_journal(const RunPaths& paths, std::uint32_t attempt, const PartPlan& plan,
                                                  const std::string& run);

/// Whether the file at `path` has the seal's size and, if `read_all`, can be read and has its checksum.
[[nodiscard]] bool matches_seal(const std::filesystem::path& path, const SealedPart& seal, bool read_all);

/// Reads the bytes of `entry` into `to`. Returns false if some are missing or unreadable, or their checksum is wrong.
[[nodiscard]] bool read_chunk(const File& part, const JournalEntry& entry, std::vector<std::byte>& to);

/// XXH3-64 of `bytes` bytes at `offset`; nullopt: the file is shorter.
[[nodiscard]] std::optional<std::uint64_t> checksum_in(const File& file, std::uint64_t offset, std::uint64_t bytes);

}  // namespace sluice
