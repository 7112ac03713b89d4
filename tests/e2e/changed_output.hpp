#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "core/commit/manifest.hpp"
#include "core/commit/run_paths.hpp"
#include "core/files/checksum.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {

/// Puts `bytes` in place of a complete output of one part, with a manifest that matches: as if they had been computed.
inline void change_output(const std::filesystem::path& output, const std::string& bytes) {
    const RunPaths paths = find_run(output).value();
    Manifest manifest = read_manifest(paths).value();
    SealedPart& part = manifest.parts.at(0).sealed;
    part.bytes = bytes.size();
    part.checksum = checksum_of(std::as_bytes(std::span(bytes)));
    write_file(output, bytes);
    write_file(paths.manifest(), encode(manifest));
}

}  // namespace sluice::test
