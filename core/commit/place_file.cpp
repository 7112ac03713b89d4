#include "core/commit/place_file.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "core/commit/file.hpp"

namespace sluice {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;

bool same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
    const auto first = status_of(one);
    const auto second = status_of(other);
    return first && second && first->st_dev == second->st_dev && first->st_ino == second->st_ino;
}

/// How many bytes of the shorter one, from the beginning, are those of the other.
std::uint64_t common_bytes(const File& one, const File& other) {
    const std::uint64_t end = std::min(one.size(), other.size());
    std::vector<std::byte> first(block_bytes);
    std::vector<std::byte> second(block_bytes);
    std::uint64_t at = 0;
    while (at < end) {
        const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes, end - at));
        if (!one.read_at(at, std::span(first).first(length)) || !other.read_at(at, std::span(second).first(length)) ||
            !std::equal(first.begin(), first.begin() + static_cast<long>(length), second.begin())) {
            break;
        }
        at += length;
    }
    return at;
}

/// Where there are no hard links, what is there may be the beginning of a copy that nobody finished.
Placed compare_or_complete(const std::filesystem::path& from, const std::filesystem::path& to, bool may_complete) {
    const auto status = status_of(to);
    if (!status || !S_ISREG(status->st_mode)) {
        return Placed::differs;
    }
    const File source = File::open(from);
    File target = may_complete ? File::open_to_complete(to) : File::open(to);
    const std::uint64_t size = source.size();
    const std::uint64_t there = target.size();
    if (there > size || common_bytes(source, target) != there || (there < size && !may_complete)) {
        return Placed::differs;
    }
    std::vector<std::byte> block(block_bytes);
    for (std::uint64_t at = there; at < size;) {
        const auto piece = std::span(block).first(std::min<std::uint64_t>(block.size(), size - at));
        if (!source.read_at(at, piece)) {
            fail_on_file(from, "read to its end", EIO);
        }
        target.write_at(at, piece);
        at += piece.size();
    }
    if (may_complete) {
        target.sync();
    }
    target.close();
    return Placed::earlier;
}

Placed copy_file(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::optional<File> target = File::create_if_absent(to);
    if (!target) {
        return compare_or_complete(from, to, true);
    }
    const File source = File::open(from);
    target->copy_at(0, source, source.size());
    target->sync();
    target->close();
    return Placed::now;
}

Placed rename_unless_there(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (status_of(to)) {
        return compare_or_complete(from, to, false);
    }
    if (const int error = rename_to(from, to); error != 0) {
        fail_on_file(to, "rename a file to", error);
    }
    return Placed::now;
}

/// Links `from` to `to`; where that is not possible, does `instead`.
template <class Instead>
Placed link_or(const std::filesystem::path& from, const std::filesystem::path& to, Instead&& instead) {
    const int error = link_to(from, to);
    Placed placed = Placed::now;
    if (error == EEXIST) {
        placed = same_file(from, to) ? Placed::earlier : compare_or_complete(from, to, false);
    } else if (error != 0) {
        placed = instead(from, to);
    }
    sync_folder(to.parent_path());
    return placed;
}

}  // namespace

Placed place_file(const std::filesystem::path& from, const std::filesystem::path& to) {
    return link_or(from, to, copy_file);
}

Placed place_text(std::string_view text, const std::filesystem::path& to, const std::filesystem::path& scratch) {
    const std::filesystem::path from = scratch / (to.filename().native() + "." + make_unique_id() + ".new");
    File file = File::create(from);
    file.write_at(0, text);
    file.sync();
    file.close();
    const Placed placed = link_or(from, to, rename_unless_there);
    remove_file(from);
    return placed;
}

}  // namespace sluice
