#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <memory>

#include "core/commit/file.hpp"
#include "core/commit/file_effect.hpp"
#include "core/commit/held_folder.hpp"
#include "core/error.hpp"
#include "core/input/checked.hpp"
#include "core/process/fault_point.hpp"

namespace sluice {
namespace {

/// Gives what lies at `from` the name `to` by the system call `name`. Returns 0 or one of `answers`, errnos that the
/// caller expects; throws for another one, with `operation`.
template <class Call>
int give_name(FileEffect::Kind kind, const std::filesystem::path& from, const std::filesystem::path& to,
              std::string_view name, Call call, const char* operation, std::initializer_list<int> answers) {
    const FilePlace old_place = FilePlace::entry(from);
    const FilePlace place = FilePlace::entry(to);
    const int error =
        errno_of(name, [&] { return call(old_place.base(), old_place.name(), place.base(), place.name()); });
    if (error == 0) {
        note_effect([&] { return FileEffect{.kind = kind, .path = from, .other = to}; });
    } else if (std::ranges::find(answers, error) == answers.end()) {
        if (error == ENOENT && !status_of(from)) {
            fail_on_file(from, "open", error);
        }
        fail_on_file(to, operation, error);
    }
    return error;
}

void note_removal(const std::filesystem::path& path, int error) {
    if (error == 0) {
        note_effect([&] { return FileEffect{.kind = FileEffect::Kind::remove, .path = path}; });
    }
}

/// 0, or an errno.
int unlink_file(const std::filesystem::path& path) {
    const FilePlace place = FilePlace::entry(path);
    const int error = errno_of("unlink", [&] { return ::unlinkat(place.base(), place.name(), 0); });
    note_removal(path, error);
    return error;
}

struct CloseFolder {
    void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

}  // namespace

bool make_folder(const std::filesystem::path& path, unsigned mode) {
    const FilePlace place = FilePlace::entry(path);
    const int error = errno_of("mkdir", [&] { return ::mkdirat(place.base(), place.name(), mode); });
    if (error != 0 && error != EEXIST) {
        fail_on_file(path, "create", error);
    }
    if (error == 0) {
        note_effect([&] { return FileEffect{.kind = FileEffect::Kind::make_folder, .path = path}; });
    }
    return error == 0;
}

void sync_folder(const std::filesystem::path& path) {
    Descriptor folder;
    if (const int error = FilePlace::folder(path).open(O_RDONLY | O_DIRECTORY, folder); error != 0) {
        fail_on_file(path, "open", error);
    }
    const int error = errno_of("fsync", [&] { return ::fsync(folder.number()); });
    // EINVAL: a file system whose folders cannot be synced, which is the best it offers.
    if (error != 0 && error != EINVAL) {
        fail_on_file(path, "sync", error);
    }
    note_effect([&] { return FileEffect{.kind = FileEffect::Kind::sync_folder, .path = path}; });
}

int rename_to(const std::filesystem::path& from, const std::filesystem::path& to) {
    return give_name(FileEffect::Kind::rename, from, to, "rename", ::renameat, "rename a file to",
                     {EEXIST, ENOTEMPTY, ENOENT});
}

int rename_to_free_name(const std::filesystem::path& from, const std::filesystem::path& to) {
    const auto rename = [](int old_base, const char* old_name, int base, const char* name) {
        return ::renameat2(old_base, old_name, base, name, RENAME_NOREPLACE);
    };
    return give_name(FileEffect::Kind::rename, from, to, "renameat2", rename, "rename a file to",
                     {EEXIST, EINVAL, ENOSYS, EOPNOTSUPP});
}

int link_to(const std::filesystem::path& from, const std::filesystem::path& to) {
    const auto link = [](int old_base, const char* old_name, int base, const char* name) {
        return ::linkat(old_base, old_name, base, name, 0);
    };
    return give_name(FileEffect::Kind::link, from, to, "link", link, "link the finished file to",
                     {EEXIST, EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EXDEV});
}

void remove_file(const std::filesystem::path& path) {
    if (const int error = unlink_file(path); error != 0 && error != ENOENT) {
        fail_on_file(path, "remove", error);
    }
}

bool try_to_remove_file(const std::filesystem::path& path) {
    const int error = unlink_file(path);
    return error == 0 || error == ENOENT;
}

void remove_folder(const std::filesystem::path& path) {
    for (const std::string& name : names_in_folder(path)) {
        const auto status = status_of(path / name);
        if (status && S_ISDIR(status->st_mode)) {
            remove_folder(path / name);
        } else {
            remove_file(path / name);
        }
    }
    if (const int error = remove_empty_folder(path); error != 0 && error != ENOENT) {
        fail_on_file(path, "remove", error);
    }
}

int remove_empty_folder(const std::filesystem::path& path) {
    const FilePlace place = FilePlace::entry(path);
    const int error = errno_of("rmdir", [&] { return ::unlinkat(place.base(), place.name(), AT_REMOVEDIR); });
    note_removal(path, error);
    return error;
}

std::optional<struct ::stat> status_of(const std::filesystem::path& path) {
    const FilePlace place = FilePlace::entry(path);
    struct stat status = {};
    const int error =
        errno_of("stat", [&] { return ::fstatat(place.base(), place.name(), &status, AT_SYMLINK_NOFOLLOW); });
    if (error == ENOENT || error == ENOTDIR) {
        return std::nullopt;
    }
    if (error != 0) {
        fail_on_file(path, "look at", error);
    }
    return status;
}

std::uint64_t free_bytes(const std::filesystem::path& path) {
    struct statvfs status = {};
    if (::statvfs(path.c_str(), &status) != 0 || status.f_blocks == 0) {
        return std::numeric_limits<std::uint64_t>::max();
    }
    return checked_multiply(status.f_bavail, status.f_frsize).value_or(std::numeric_limits<std::uint64_t>::max());
}

bool same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
    const auto first = status_of(one);
    const auto second = status_of(other);
    return first && second && first->st_dev == second->st_dev && first->st_ino == second->st_ino;
}

std::vector<std::string> names_in_folder(const std::filesystem::path& path) {
    std::unique_ptr<DIR, CloseFolder> folder;
    const FilePlace place = FilePlace::folder(path);
    const int error = errno_of("list", [&] {
        const int fd = ::openat(place.base(), place.name(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        folder.reset(fd < 0 ? nullptr : ::fdopendir(fd));
        return folder == nullptr ? -1 : 0;
    });
    std::vector<std::string> names;
    if (error != 0) {
        if (error != ENOENT) {
            fail_on_file(path, "list", error);
        }
        return names;
    }
    for (;;) {
        errno = 0;
        const dirent* const entry = ::readdir(folder.get());
        if (entry == nullptr) {
            break;
        }
        std::string name = entry->d_name;
        if (name != "." && name != "..") {
            names.push_back(std::move(name));
        }
    }
    if (errno != 0) {
        fail_on_file(path, "list", errno);
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::optional<std::string> read_text(const std::filesystem::path& path, std::size_t most) {
    const std::optional<File> file = File::open_if_there(path);
    if (!file) {
        return std::nullopt;
    }
    const struct ::stat status = file->status();
    if (!is_trusted_owner(path, status.st_uid)) {
        throw Error(ExitCode::refused, {.id = "E-SEC-118",
                                        .where = escaped(path.native()),
                                        .what = fmt::format("belongs to another user ({})", user_name(status.st_uid)),
                                        .hint = "no run of yours created it: remove it if you do not know it"});
    }
    std::string text(std::min<std::uint64_t>(static_cast<std::uint64_t>(status.st_size), most + 1), '\0');
    if (!file->read_at(0, std::as_writable_bytes(std::span(text)))) {
        text.clear();  // it has shrunk since: what is there is no whole file
    }
    return text;
}

void write_text_durably(const std::filesystem::path& path, std::string_view text) {
    const std::filesystem::path next = path.native() + ".new";
    remove_file(next);
    try {
        File file = File::create(next);
        file.write_at(0, text);
        file.sync();
        file.close();
        if (const int error = rename_to(next, path); error != 0) {
            fail_on_file(path, "rename a file to", error);
        }
    } catch (...) {
        static_cast<void>(try_to_remove_file(next));
        throw;
    }
    sync_folder(path.parent_path());
}

}  // namespace sluice
