#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/commit/part_writer.hpp"
#include "core/commit/run_paths.hpp"
#include "core/text/wording.hpp"

namespace sluice {

/// A part and its location.
struct PublishedPart {
    std::string file{};        ///< In RunPaths::published_folder().
    std::uint64_t offset = 0;  ///< Of its first byte in that file.
    SealedPart sealed{};

    friend bool operator==(const PublishedPart&, const PublishedPart&) = default;
};

/// A file of the input, and its items among those of the output.
struct PublishedInput {
    std::string path{};
    std::uint64_t bytes = 0;
    std::uint64_t first_item = 0;
    std::uint64_t items = 0;

    friend bool operator==(const PublishedInput&, const PublishedInput&) = default;
};

/// For information; of the attempt that published.
struct ManifestNotes {
    std::vector<PublishedInput> inputs{};                           ///< In the order of their items.
    std::vector<std::pair<std::string, std::string>> provenance{};  ///< Build, host, time.
};

/// MANIFEST.json: written last and never changed; an output is complete if and only if it exists.
struct Manifest {
    std::string fingerprint{};  ///< Of the run's identity.
    std::uint32_t attempt = 0;  ///< The attempt that published it.
    std::string owner{};        ///< Owner::id of that attempt.
    std::vector<PublishedPart> parts{};
    std::vector<std::uint64_t> failed_items{};  ///< Items with a row, but no result.
    ManifestNotes notes{};

    [[nodiscard]] std::uint64_t items() const;
    [[nodiscard]] std::uint64_t nonfinite() const;
};

/// Locations of the parts once published: consecutive in one file, or a file each in a folder.
[[nodiscard]] std::vector<PublishedPart> lay_out(const RunPaths& paths, const std::vector<SealedPart>& parts);

[[nodiscard]] std::string encode(const Manifest& manifest);

/// nullopt: none exists. Throws Error: checkpoint_damaged (E-CKP-088), configuration (E-CKP-089, another version).
[[nodiscard]] std::optional<Manifest> read_manifest(const RunPaths& paths);

/// Throws Error (checkpoint_damaged, E-CKP-088) if a published file is missing or has another size.
void check_published_sizes(const RunPaths& paths, const Manifest& manifest);

/// The published files that are not there, in RunPaths::published_folder(), each once.
[[nodiscard]] std::vector<std::string> missing_files(const RunPaths& paths, const Manifest& manifest);

struct Verification {
    std::uint64_t parts = 0;
    std::uint64_t bytes = 0;  ///< Bytes read.
    std::uint64_t items = 0;
    std::vector<std::string> problems{};  ///< One line each, with file and problem; empty: none.
};

/// Compares every byte of the published output with the manifest, and the manifest with the run's identity. Throws
/// Error: checkpoint_damaged if one of these two is damaged (E-CKP-088, E-CKP-085), no_input (E-OUT-111) if the run is
/// not finished. `on_progress` is called before each part.
[[nodiscard]] Verification verify_output(const RunPaths& paths,
                                         const std::function<void(const ItemCount&)>& on_progress = {});

/// Throws Error (checkpoint_damaged, E-CKP-088) with the first problem and their number, if there are any.
void require_intact(const Verification& verification, const RunPaths& paths);

}  // namespace sluice
