#include "core/commit/verify.hpp"

#include <fmt/format.h>

#include <map>

#include "core/commit/attempt_journal.hpp"
#include "core/commit/manifest.hpp"
#include "core/commit/run_identity.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

[[noreturn]] void refuse_unfinished(const RunPaths& paths) {
    throw Error(ExitCode::no_input, {.id = "E-OUT-111",
                                     .where = escaped(paths.output.native()),
                                     .what = "is not complete: there is no manifest",
                                     .hint = "run its job again to finish it"});
}

void compare_with_identity(const Manifest& manifest, const RunPaths& paths, Verification& verification) {
    const std::optional<RunIdentity> identity = read_run_identity(paths);
    if (!identity) {
        verification.problems.emplace_back("job.json: missing");
    } else if (fingerprint(*identity) != manifest.fingerprint || identity->items != manifest.items()) {
        verification.problems.emplace_back("MANIFEST.json: of another job than job.json");
    }
}

void verify_part(const PublishedPart& part, const File& file, Verification& verification) {
    const auto checksum = checksum_in(file, part.offset, part.sealed.bytes);
    if (!checksum) {
        verification.problems.push_back(
            fmt::format("{}: ends before byte {}", escaped(part.file), part.offset + part.sealed.bytes));
    } else if (*checksum != part.sealed.checksum) {
        verification.problems.push_back(fmt::format("{}: bytes {} to {} have checksum {}, expected {}",
                                                    escaped(part.file), part.offset, part.offset + part.sealed.bytes,
                                                    hexadecimal(*checksum), hexadecimal(part.sealed.checksum)));
    }
    ++verification.parts;
    verification.bytes += part.sealed.bytes;
    verification.items += part.sealed.items;
}

}  // namespace

Verification verify_output(const RunPaths& paths) {
    const std::optional<Manifest> manifest = read_manifest(paths);
    if (!manifest) {
        refuse_unfinished(paths);
    }
    Verification verification;
    compare_with_identity(*manifest, paths, verification);
    std::map<std::string, std::uint64_t> sizes;
    for (const PublishedPart& part : manifest->parts) {
        const std::optional<File> file = File::open_if_there(paths.published_folder() / part.file);
        sizes[part.file] += part.sealed.bytes;
        if (file) {
            verify_part(part, *file, verification);
        }
    }
    for (const auto& [name, size] : sizes) {
        const std::optional<File> file = File::open_if_there(paths.published_folder() / name);
        if (!file) {
            verification.problems.push_back(fmt::format("{}: missing", escaped(name)));
        } else if (file->size() > size) {
            verification.problems.push_back(
                fmt::format("{}: has {} bytes, expected {}", escaped(name), file->size(), size));
        }
    }
    return verification;
}

void require_intact(const Verification& verification, const RunPaths& paths) {
    if (verification.problems.empty()) {
        return;
    }
    throw Error(
        ExitCode::checkpoint_damaged,
        {.id = "E-CKP-088",
         .where = escaped(paths.output.native()),
         .what = fmt::format("is not what was published ({} of {} checks failed); {}", verification.problems.size(),
                             verification.parts + 1, verification.problems.front()),
         .hint = "restore a copy, or remove the output and the run's folder to recompute it"});
}

}  // namespace sluice
