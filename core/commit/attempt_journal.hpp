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

/// What one other attempt says that it has finished: its journal's valid entries, as far as they fit the job.
struct AttemptJournal {
    std::uint32_t attempt = 0;
    std::filesystem::path folder{};
    std::uint64_t journal_bytes = 0;                      ///< Of the valid entries.
    std::map<std::uint32_t, SealedPart> seals{};          ///< By part.
    std::map<std::uint64_t, JournalEntry> chunks{};       ///< By chunk; of entries for the same one, the first.
    std::multimap<std::uint64_t, JournalEntry> failed{};  ///< By chunk: its items without a result.
    std::string dropped{};                                ///< Says how much of the journal is not valid; may be empty.
};

/// Of an attempt that is not of the run whose fingerprint is `run`, as far as its owner.json says, nothing counts.
[[nodiscard]] AttemptJournal read_attempt_journal(const RunPaths& paths, std::uint32_t attempt, const PartPlan& plan,
                                                  const std::string& run);

/// Whether the file at `path` has the seal's size and, if `read_all`, can be read and has its checksum.
[[nodiscard]] bool matches_seal(const std::filesystem::path& path, const SealedPart& seal, bool read_all);

/// Reads the bytes of `entry` into `to`. False: they are not all there, cannot be read, or do not have their
/// checksum.
[[nodiscard]] bool read_chunk(const File& part, const JournalEntry& entry, std::vector<std::byte>& to);

/// XXH3-64 of `bytes` bytes from `offset` on; nullopt: the file is shorter.
[[nodiscard]] std::optional<std::uint64_t> checksum_in(const File& file, std::uint64_t offset, std::uint64_t bytes);

}  // namespace sluice
