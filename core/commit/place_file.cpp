#include "core/commit/place_file.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/commit/file.hpp"
#include "core/files/paths.hpp"

namespace sluice {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;

bool same_bytes(const File& one, const File& other) {
    std::vector<std::byte> first(block_bytes);
    std::vector<std::byte> second(block_bytes);
    const std::uint64_t size = one.size();
    bool same = size == other.size();
    for (std::uint64_t at = 0; same && at < size;) {
        const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes, size - at));
        same = one.read_at(at, std::span(first).first(length)) && other.read_at(at, std::span(second).first(length)) &&
               std::equal(first.begin(), first.begin() + static_cast<long>(length), second.begin());
        at += length;
    }
    return same;
}

/// What is there counts when it has the same bytes, and from then on for good: nobody knows who has written it.
Placed compare(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (same_file(from, to)) {
        return Placed::earlier;
    }
    const auto status = status_of(to);
    if (!status || !S_ISREG(status->st_mode)) {
        return Placed::differs;
    }
    const File target = File::open(to);
    if (!same_bytes(File::open(from), target)) {
        return Placed::differs;
    }
    target.sync();
    return Placed::earlier;
}

/// Returns 0 or EEXIST.
int rename_if_free(const std::filesystem::path& from, const std::filesystem::path& to) {
    const int error = rename_to_free_name(from, to);
    if (error == 0 || error == EEXIST) {
        return error;
    }
    // Neither hard links nor a rename that replaces nothing: there a look a moment before has to do.
    if (status_of(to)) {
        return EEXIST;
    }
    if (const int other = rename_to(from, to); other != 0) {
        fail_on_file(to, "rename a file to", other);
    }
    return 0;
}

Placed place_copy(const std::filesystem::path& from, const std::filesystem::path& to,
                  const std::filesystem::path& scratch) {
    const std::filesystem::path copy = scratch / (to.filename().native() + ".copy");
    remove_file(copy);  // of a file that could not be read
    {
        const File source = File::open(from);
        File target = File::create(copy);
        target.copy_at(0, source, 0, source.size());
        target.sync();
        target.close();
    }
    if (rename_if_free(copy, to) == 0) {
        return Placed::now;
    }
    remove_file(copy);
    return compare(from, to);
}

/// Links `from` to `to`; where that is not possible, does `instead`.
template <class Instead>
Placed link_or(const std::filesystem::path& from, const std::filesystem::path& to, Instead&& instead) {
    const int error = link_to(from, to);
    if (error == EEXIST) {
        return compare(from, to);
    }
    return error == 0 ? Placed::now : instead();
}

Placed place_new(std::string_view text, const std::filesystem::path& from, const std::filesystem::path& to) {
    File file = File::create(from);
    file.write_at(0, text);
    file.sync();
    file.close();
    const Placed placed =
        link_or(from, to, [&] { return rename_if_free(from, to) == 0 ? Placed::now : compare(from, to); });
    sync_folder(to.parent_path());
    return placed;
}

}  // namespace

Placed place_file(const std::filesystem::path& from, const std::filesystem::path& to,
                  const std::filesystem::path& scratch) {
    return link_or(from, to, [&] { return place_copy(from, to, scratch); });
}

Placed place_text(std::string_view text, const std::filesystem::path& to, const std::filesystem::path& scratch) {
    const std::filesystem::path from = scratch / (to.filename().native() + "." + make_unique_id() + ".new");
    const auto remove_other_name = [&] { static_cast<void>(try_to_remove_file(from)); };
    Placed placed = Placed::differs;
    try {
        placed = place_new(text, from, to);
    } catch (...) {
        remove_other_name();
        throw;
    }
    remove_other_name();  // one that stays ends no run, since the file is there for good; clean_run takes it away
    return placed;
}

}  // namespace sluice
