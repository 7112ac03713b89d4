#pragma once

#include <cstdint>
#include <filesystem>
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

}  // namespace sluice
