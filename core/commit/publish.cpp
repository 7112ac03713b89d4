#include "core/commit/publish.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/commit/attempt_journal.hpp"
#include "core/commit/file.hpp"
#include "core/commit/place_file.hpp"
#include "core/error.hpp"
#include "core/process/fault_point.hpp"

namespace sluice {
namespace {

/// All parts in one file, in the attempt's own folder.
std::filesystem::path one_file(const AttemptFolder& attempt, Assembly* assembly) {
    if (assembly == nullptr) {
        return part_file(attempt.folder(), 0);
    }
    std::filesystem::path path = assembly->finish();
    fault_point("publish.assembled");
    return path;
}

/// `parts`, as one other attempt has sealed them; nullopt: it has not sealed all of them.
std::optional<std::vector<SealedPart>> as_sealed_by(const AttemptJournal& entries,
                                                    const std::vector<SealedPart>& parts) {
    std::vector<SealedPart> others;
    for (const SealedPart& part : parts) {
        const auto seal = entries.seals.find(part.part);
        if (seal == entries.seals.end()) {
            return std::nullopt;
        }
        others.push_back(seal->second);
    }
    return others;
}

bool holds(const File& file, const std::vector<SealedPart>& parts) {
    std::uint64_t offset = 0;
    for (const SealedPart& part : parts) {
        if (checksum_in(file, offset, part.bytes) != part.checksum) {
            return false;
        }
        offset += part.bytes;
    }
    return offset == file.size();
}

[[noreturn]] void refuse_taken_name(const std::filesystem::path& target) {
    throw Error(ExitCode::cannot_create, {.id = "E-OUT-073",
                                          .where = escaped(target.native()),
                                          .what = "already exists and was not written by this run",
                                          .hint = "move it away, then run the same command again"});
}

/// What `target` holds in place of `parts`: what another attempt on the same run has sealed, or nothing that we know.
std::vector<SealedPart> recognise(const std::filesystem::path& target, const AttemptFolder& attempt,
                                  const PartPlan& plan, const std::vector<SealedPart>& parts) {
    const auto status = status_of(target);
    if (status && S_ISREG(status->st_mode)) {
        const File file = File::open(target);
        for (const std::uint32_t number : attempts_of(attempt.paths())) {
            const auto others =
                as_sealed_by(read_attempt_journal(attempt.paths(), number, plan, attempt.owner().run), parts);
            if (others && holds(file, *others)) {
                return *others;
            }
        }
    }
    refuse_taken_name(target);
}

/// What has the name of parts `first` to `end`.
struct TakenName {
    std::filesystem::path path;
    std::uint32_t first;
    std::uint32_t end;
    struct ::stat status;
};

std::vector<TakenName> taken_names(const RunPaths& paths, const PartPlan& plan) {
    std::vector<TakenName> taken;
    const auto add = [&](const std::filesystem::path& path, std::uint32_t first, std::uint32_t end) {
        if (const auto status = status_of(path)) {
            taken.push_back({.path = path, .first = first, .end = end, .status = *status});
        }
    };
    if (paths.layout == OutputLayout::file) {
        add(paths.output, 0, plan.parts());
        return taken;
    }
    const std::vector<std::string> names = names_in_folder(paths.output);
    const std::set<std::string> there(names.begin(), names.end());
    for (std::uint32_t part = 0; part < plan.parts(); ++part) {
        if (const std::string name = paths.published_name(part); there.contains(name)) {
            add(paths.output / name, part, part + 1);
        }
    }
    return taken;
}

/// Whether an attempt may have put it there: it has sealed parts that are as long together.
bool may_have_placed(const AttemptJournal& entries, const TakenName& name) {
    std::uint64_t bytes = 0;
    for (std::uint32_t part = name.first; part < name.end; ++part) {
        const auto seal = entries.seals.find(part);
        if (seal == entries.seals.end()) {
            return false;
        }
        bytes += seal->second.bytes;
    }
    return S_ISREG(name.status.st_mode) && static_cast<std::uint64_t>(name.status.st_size) == bytes;
}

/// Test builds only: whatever is there goes.
Placed replace_file(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (const int error = rename_to(from, to); error != 0) {
        fail_on_file(to, "rename a file to", error);
    }
    return Placed::now;
}

Placed place_manifest(const Manifest& manifest, const AttemptFolder& attempt) {
    if (is_broken("rename-over")) {
        write_text_durably(attempt.paths().manifest(), encode(manifest));
        return Placed::now;
    }
    return place_text(encode(manifest), attempt.paths().manifest(), attempt.folder());
}

/// Returns what is there afterwards.
std::vector<SealedPart> place_parts(const std::filesystem::path& from, const std::filesystem::path& target,
                                    const AttemptFolder& attempt, const PartPlan& plan,
                                    const std::vector<SealedPart>& parts) {
    const Placed placed =
        is_broken("rename-over") ? replace_file(from, target) : place_file(from, target, attempt.folder());
    fault_point("publish.link");
    return placed == Placed::differs ? recognise(target, attempt, plan, parts) : parts;
}

/// A sealed part that the disk does not give back is taken away from every attempt, so that the next one computes it
/// again instead of failing as this one.
[[noreturn]] void give_up(const UnreadableFile& error, const AttemptFolder& attempt,
                          const std::vector<SealedPart>& sealed) {
    for (const SealedPart& part : sealed) {
        if (part_file(attempt.folder(), part.part) != error.path()) {
            continue;
        }
        for (const std::uint32_t number : attempts_of(attempt.paths())) {
            if (number != attempt.number() &&
                same_file(part_file(attempt.paths().attempt(number), part.part), error.path())) {
                remove_file(part_file(attempt.paths().attempt(number), part.part));
            }
        }
        remove_file(error.path());
        ErrorText text = error.text();
        text.hint = fmt::format("run the same command again: it recomputes part {}", part.part);
        throw Error(error.code(), std::move(text));
    }
    throw error;
}

std::vector<SealedPart> place_all(const AttemptFolder& attempt, const PartPlan& plan,
                                  const std::vector<SealedPart>& sealed, Assembly* assembly) {
    const RunPaths& paths = attempt.paths();
    std::vector<SealedPart> published;
    try {
        if (paths.layout == OutputLayout::file) {
            published = place_parts(one_file(attempt, assembly), paths.output, attempt, plan, sealed);
        } else {
            for (const SealedPart& part : sealed) {
                const std::filesystem::path target = paths.published_folder() / paths.published_name(part.part);
                published.push_back(
                    place_parts(part_file(attempt.folder(), part.part), target, attempt, plan, {part}).front());
            }
        }
    } catch (const UnreadableFile& error) {
        give_up(error, attempt, sealed);
    }
    sync_folder(paths.published_folder());  // once, whatever the number of parts
    return published;
}

}  // namespace

void refuse_taken_names(const RunPaths& paths, const PartPlan& plan, const std::string& run) {
    // Names first: whoever places a file has the seals of its parts in its journal by then.
    const std::vector<TakenName> taken = taken_names(paths, plan);
    if (taken.empty()) {
        return;
    }
    std::vector<AttemptJournal> journals;
    for (const std::uint32_t number : attempts_of(paths)) {
        journals.push_back(read_attempt_journal(paths, number, plan, run));
        if (!journals.back().dropped.empty()) {
            return;  // nobody knows what it has sealed: publish() compares all bytes
        }
    }
    for (const TakenName& name : taken) {
        if (std::ranges::none_of(journals, [&](const AttemptJournal& one) { return may_have_placed(one, name); })) {
            refuse_taken_name(name.path);
        }
    }
}

Manifest publish(const AttemptFolder& attempt, const PartPlan& plan, const RunIdentity& identity,
                 const std::vector<SealedPart>& sealed, Assembly* assembly,
                 const std::vector<std::uint64_t>& failed_items, const ManifestNotes& notes) {
    expects(sealed.size() == plan.parts(), "an output is published when all of its parts are sealed");
    attempt.check_fence();
    const RunPaths& paths = attempt.paths();
    establish_run_identity(paths, identity);  // whoever has given up an empty run may have removed it
    Manifest mine{.fingerprint = fingerprint(identity),
                  .attempt = attempt.number(),
                  .owner = attempt.owner().id,
                  .parts = lay_out(paths, place_all(attempt, plan, sealed, assembly)),
                  .failed_items = failed_items,
                  .notes = notes};
    expects(mine.items() == plan.grid().items(), "a manifest has every item once");
    check_published_sizes(paths, mine);
    if (place_manifest(mine, attempt) == Placed::now) {
        fault_point("publish.manifest");
        return mine;
    }
    Manifest theirs = read_manifest(paths).value();
    expects(theirs.fingerprint == mine.fingerprint && theirs.parts == mine.parts,
            "two attempts on the same run publish the same files");
    return theirs;
}

}  // namespace sluice
