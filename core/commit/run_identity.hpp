#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/commit/part_plan.hpp"
#include "core/commit/run_paths.hpp"

namespace sluice {

/// The setting that tells several files of an input apart: a digest of each, of `input_digest_length` characters.
inline constexpr std::string_view input_digests = "input.files";
inline constexpr std::size_t input_digest_length = 8;

/// Everything that determines the output's bytes, fixed by the first attempt; excludes ranks, nodes and devices.
struct RunIdentity {
    std::uint64_t items = 0;
    std::uint32_t chunk_items = 1;
    std::uint64_t chunks_per_part = 1;
    OutputLayout layout = OutputLayout::file;
    /// Names and values, in any order: of the job ("app", "run.precision", …), and the content of its files.
    std::vector<std::pair<std::string, std::string>> settings{};
    /// For messages, not stored: the input's files, where the setting input_digests has a digest for each.
    std::vector<std::filesystem::path> input_files{};

    [[nodiscard]] PartPlan plan() const { return {ChunkGrid(items, chunk_items), chunks_per_part}; }
};

/// XXH3-128 of all of it, 32 hexadecimal digits.
[[nodiscard]] std::string fingerprint(const RunIdentity& identity);

/// "items (was 12, is 13)" for each difference, including names that only one of them has; of the chunks of a part,
/// which follow from the rest, only where nothing else differs; of the GPU's model and the host's instructions only
/// where the kind of device is the same; of an input's files, the first one that differs. Empty: the same run.
[[nodiscard]] std::vector<std::string> differences(const RunIdentity& was, const RunIdentity& is);

/// The contents of job.json.
[[nodiscard]] std::string encode(const RunIdentity& identity);

/// Throws Error: checkpoint_damaged (E-CKP-085), or configuration (E-CKP-089) when a later sluice wrote it. `where`
/// stands in the message.
[[nodiscard]] RunIdentity decode_run_identity(const std::string& text, const std::filesystem::path& where);

/// The identity of the run at `paths`; nullopt: no run. Throws Error as decode_run_identity.
[[nodiscard]] std::optional<RunIdentity> read_run_identity(const RunPaths& paths);

/// Throws Error (configuration, E-CKP-090) unless `begun`, the identity of the run at `paths`, is `identity`: results
/// must not be mixed.
void check_same_run(const RunPaths& paths, const RunIdentity& begun, const RunIdentity& identity);

/// Durably sets the identity of the run at `paths`, unless it has one. Throws Error as check_same_run.
void establish_run_identity(const RunPaths& paths, const RunIdentity& identity);

}  // namespace sluice
