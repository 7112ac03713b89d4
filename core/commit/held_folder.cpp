#include "core/commit/held_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

#include "core/commit/file.hpp"
#include "core/error.hpp"
#include "core/process/fault_point.hpp"
#include "core/text/program_name.hpp"

namespace sluice {

struct HeldFolder::State {
    std::filesystem::path path;
    FolderTrust trust;
    Descriptor file;
    struct ::stat status {};
};

namespace {

using Held = std::shared_ptr<const HeldFolder::State>;

/// All that are held now. Few: those of one run.
class HeldFolders {
public:
    void add(const Held& folder) {
        const std::lock_guard lock(mutex_);
        std::erase_if(folders_, [](const auto& one) { return one.expired(); });
        folders_.push_back(folder);
    }

    /// The innermost that `matches`; null: none.
    template <class Matches>
    [[nodiscard]] Held find(Matches matches) const {
        const std::lock_guard lock(mutex_);
        Held best;
        for (const auto& one : folders_) {
            const Held folder = one.lock();
            if (folder && matches(*folder) && (!best || folder->path.native().size() > best->path.native().size())) {
                best = folder;
            }
        }
        return best;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::weak_ptr<const HeldFolder::State>> folders_;
};

HeldFolders& held_folders() {
    static HeldFolders all;
    return all;
}

/// What `path` is called below `folder`; empty: it does not lie there.
std::string_view name_below(const std::filesystem::path& folder, const std::filesystem::path& path) {
    std::string_view prefix = folder.native();
    prefix.remove_suffix(prefix.ends_with('/') ? 1 : 0);
    const std::string_view whole = path.native();
    const bool below = whole.size() > prefix.size() + 1 && whole.starts_with(prefix) && whole[prefix.size()] == '/';
    return below ? whole.substr(prefix.size() + 1) : std::string_view();
}

Held find_above(const std::filesystem::path& path) {
    return held_folders().find([&](const auto& folder) { return !name_below(folder.path, path).empty(); });
}

Held find_exactly(const std::filesystem::path& path) {
    return held_folders().find([&](const auto& folder) { return folder.path == path; });
}

[[noreturn]] void refuse(const std::filesystem::path& path, std::string what, std::string hint) {
    throw Error(ExitCode::refused,
                {.id = "E-SEC-020", .where = escaped(path.native()), .what = std::move(what), .hint = std::move(hint)});
}

/// Some file systems show one mode for everything, which nobody can change: FAT, Windows' own, and 9p.
bool keeps_modes(int folder) {
    constexpr std::array<unsigned, 7> without{0x4D44U,     0x2011BAB0U, 0x5346544EU, 0x7366746EU,
                                              0x65735546U, 0x01021997U, 0xFF534D42U};
    constexpr unsigned smb2 = 0xFE534D42U;
    struct ::statfs status = {};
    if (::fstatfs(folder, &status) != 0) {
        return true;
    }
    const auto type = static_cast<unsigned>(status.f_type);
    return type != smb2 && std::ranges::find(without, type) == without.end();
}

void check(const HeldFolder::State& folder, FolderTrust trust) {
    const uid_t me = ::geteuid();
    const struct ::stat& status = folder.status;
    if (!S_ISDIR(status.st_mode)) {
        refuse(folder.path, "is not a folder, or is a link to one", "remove it, or choose another [output].path");
    }
    const bool is_trusted =
        trust == FolderTrust::any || status.st_uid == me || (trust == FolderTrust::mine && status.st_uid == 0);
    if (!is_trusted) {
        refuse(folder.path, fmt::format("belongs to another user ({})", user_name(status.st_uid)),
               fmt::format("`{0} status` and `{0} verify` read it; a job of yours needs an output.path of its own",
                           program_name()));
    }
    const bool is_shared = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (trust == FolderTrust::only_mine && is_shared && keeps_modes(folder.file.number())) {
        refuse(folder.path, fmt::format("others may write to it (mode {:04o})", status.st_mode & 07777),
               "chmod go-w it, if what is in it is yours");
    }
}

/// O_PATH: a folder that may be entered, but not listed, will do; a link is opened itself, for check() to refuse.
Held open_folder(const std::filesystem::path& path, FolderTrust trust) {
    Descriptor file;
    const int flags = O_PATH | (trust == FolderTrust::any ? O_DIRECTORY : O_NOFOLLOW);
    if (const int error = FilePlace::entry(path).open(flags, file); error != 0) {
        fail_on_file(path, "open", error);
    }
    auto folder =
        std::make_shared<HeldFolder::State>(HeldFolder::State{.path = path, .trust = trust, .file = std::move(file)});
    if (::fstat(folder->file.number(), &folder->status) != 0) {
        fail_on_file(path, "look at", errno);
    }
    return folder;
}

}  // namespace

HeldFolder::HeldFolder(const std::filesystem::path& path, FolderTrust trust) : state_(find_exactly(path)) {
    const bool fresh = state_ == nullptr;
    if (fresh) {
        state_ = open_folder(path, trust);
    }
    check(*state_, trust);
    if (fresh) {
        held_folders().add(state_);
    }
}

uid_t HeldFolder::owner() const noexcept {
    return state_->status.st_uid;
}

bool is_in_place(const std::filesystem::path& path) {
    const Held folder = find_exactly(path);
    if (!folder) {
        return status_of(path).has_value();
    }
    struct ::stat status = {};
    const int flags = folder->trust == FolderTrust::any ? 0 : AT_SYMLINK_NOFOLLOW;
    if (::fstatat(AT_FDCWD, path.c_str(), &status, flags) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) {
            return false;
        }
        fail_on_file(path, "look at", errno);
    }
    return status.st_dev == folder->status.st_dev && status.st_ino == folder->status.st_ino;
}

bool is_trusted_owner(const std::filesystem::path& path, uid_t owner) {
    const Held folder = find_above(path);
    const bool is_theirs = folder && folder->trust == FolderTrust::any && owner == folder->status.st_uid;
    return owner == ::geteuid() || owner == 0 || is_theirs;
}

std::string user_name(uid_t user) {
    std::array<char, 4096> text{};
    struct passwd entry = {};
    struct passwd* found = nullptr;
    ::getpwuid_r(user, &entry, text.data(), text.size(), &found);
    return found == nullptr ? fmt::format("user {}", user) : escaped(found->pw_name);
}

FilePlace::FilePlace(std::shared_ptr<const HeldFolder::State> held, std::string name)
    : held_(std::move(held)), name_(std::move(name)) {}

FilePlace FilePlace::entry(const std::filesystem::path& path) {
    Held above = find_above(path);
    std::string name = above ? std::string(name_below(above->path, path)) : path.native();
    return {std::move(above), std::move(name)};
}

FilePlace FilePlace::folder(const std::filesystem::path& path) {
    Held exactly = find_exactly(path);
    return exactly ? FilePlace(std::move(exactly), ".") : entry(path);
}

int FilePlace::open(int flags, Descriptor& file) const {
    constexpr mode_t file_mode = 0666;  // less the umask, as every tool that makes results
    return errno_of("open", [&] {
        file = Descriptor(::openat(base(), name(), flags | O_CLOEXEC, file_mode));
        return file.number();
    });
}

int FilePlace::base() const noexcept {
    return held_ ? held_->file.number() : AT_FDCWD;
}

}  // namespace sluice
