#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/commit/part_plan.hpp"
#include "core/commit/run_paths.hpp"

namespace sluice {

/// Everything that decides the output's bytes, fixed by the first attempt. Ranks, nodes and devices are no part of it.
struct RunIdentity {
    std::uint64_t items = 0;
    std::uint32_t chunk_items = 1;
    std::uint64_t chunks_per_part = 1;
    OutputLayout layout = OutputLayout::file;
    /// Names and values, in any order: of the job ("app", "run.precision", …), and of its files what they
    /// hold.
    std::vector<std::pair<std::string, std::string>> settings{};

    [[nodiscard]] PartPlan plan() const { return {ChunkGrid(items, chunk_items), chunks_per_part}; }
};

/// XXH3-128 of all of it, 32 hexadecimal digits.
[[nodiscard]] std::string fingerprint(const RunIdentity& identity);

/// "items (was 12, is 13)" for each value that differs, for each name that only one of them has. Empty: the same run.
[[nodiscard]] std::vector<std::string> differences(const RunIdentity& was, const RunIdentity& is);

/// The contents of job.json.
[[nodiscard]] std::string encode(const RunIdentity& identity);

/// Throws Error: checkpoint_damaged (E-CKP-085), or configuration (E-CKP-089) when a later sluice wrote it. `where`
/// stands in the message.
[[nodiscard]] RunIdentity decode_run_identity(const std::string& text, const std::filesystem::path& where);

/// What the run at `paths` was started as; nullopt: there is none. Throws Error as above.
[[nodiscard]] std::optional<RunIdentity> read_run_identity(const RunPaths& paths);

/// Makes `identity` that of the run at `paths`, durably, unless it has one. Throws Error (configuration, E-CKP-090)
/// when it has another one: nothing may be mixed.
void establish_run_identity(const RunPaths& paths, const RunIdentity& identity);

}  // namespace sluice
