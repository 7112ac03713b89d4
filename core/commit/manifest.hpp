#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/commit/part_writer.hpp"
#include "core/commit/run_paths.hpp"

namespace sluice {

/// A part, and where it lies.
struct PublishedPart {
    std::string file{};        ///< In RunPaths::published_folder().
    std::uint64_t offset = 0;  ///< Of its first byte in that file.
    SealedPart sealed{};

    friend bool operator==(const PublishedPart&, const PublishedPart&) = default;
};

/// MANIFEST.json: written last, never changed, and the only sign that an output is complete.
struct Manifest {
    std::string fingerprint{};  ///< Of the run's identity.
    std::uint32_t attempt = 0;  ///< Which one has published it.
    std::string owner{};        ///< That one's Owner::id.
    std::vector<PublishedPart> parts{};
    std::vector<std::uint64_t> failed_items{};                      ///< They have a row, but no result.
    std::vector<std::pair<std::string, std::string>> provenance{};  ///< What else is worth knowing: build, host, time.

    [[nodiscard]] std::uint64_t items() const;
    [[nodiscard]] std::uint64_t nonfinite() const;
};

/// The parts where they lie once published: in one file one after the other, in a folder each in a file of its own.
[[nodiscard]] std::vector<PublishedPart> lay_out(const RunPaths& paths, const std::vector<SealedPart>& parts);

[[nodiscard]] std::string encode(const Manifest& manifest);

/// nullopt: there is none. Throws Error: checkpoint_damaged (E-CKP-088), configuration (E-CKP-089, another version).
[[nodiscard]] std::optional<Manifest> read_manifest(const RunPaths& paths);

/// Throws Error (checkpoint_damaged, E-CKP-088) when a published file is missing or has another size.
void check_published_sizes(const RunPaths& paths, const Manifest& manifest);

struct Verification {
    std::uint64_t parts = 0;
    std::uint64_t bytes = 0;  ///< That were read.
    std::uint64_t items = 0;
    std::vector<std::string> problems{};  ///< Each a line that names the file and what is wrong; empty: all is well.
};

/// Reads every byte of the published output and compares it with the manifest, and that with the run's identity. Throws
/// Error (checkpoint_damaged) when either of the two cannot be read as such (E-CKP-088, E-CKP-085), no_input
/// (E-OUT-111) when the run is not finished.
[[nodiscard]] Verification verify_output(const RunPaths& paths);

/// Throws Error (checkpoint_damaged, E-CKP-088) with the first problem and the number of all.
void require_intact(const Verification& verification, const RunPaths& paths);

}  // namespace sluice
