#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "core/commit/file.hpp"
#include "core/error.hpp"
#include "core/fault_point.hpp"

namespace sluice {
namespace {

/// errno of a call that returned `result`.
int error_of(int injected, int result) {
    if (injected != 0) {
        return injected;
    }
    return result < 0 ? errno : 0;
}

/// Makes `call` unless a fault takes its place. 0, or an errno.
template <class Call>
int attempt(const char* point, Call&& call) {
    const int injected = fault_at_call(point);
    return error_of(injected, injected != 0 ? 0 : call());
}

struct CloseFolder {
    void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

}  // namespace

bool make_folder(const std::filesystem::path& path, unsigned mode) {
    const int error = attempt("mkdir", [&] { return ::mkdir(path.c_str(), mode); });
    if (error != 0 && error != EEXIST) {
        fail_on_file(path, "create", error);
    }
    return error == 0;
}

void sync_folder(const std::filesystem::path& path) {
    const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        fail_on_file(path, "open", errno);
    }
    const int error = attempt("fsync", [&] { return ::fsync(folder); });
    ::close(folder);
    // EINVAL: a file system whose folders cannot be synced, which is the best it offers.
    if (error != 0 && error != EINVAL) {
        fail_on_file(path, "sync", error);
    }
}

int rename_to(const std::filesystem::path& from, const std::filesystem::path& to) {
    const int error = attempt("rename", [&] { return ::rename(from.c_str(), to.c_str()); });
    if (error != 0 && error != EEXIST && error != ENOTEMPTY && error != ENOENT) {
        fail_on_file(to, "rename a file to", error);
    }
    return error;
}

int link_to(const std::filesystem::path& from, const std::filesystem::path& to) {
    const int error = attempt("link", [&] { return ::link(from.c_str(), to.c_str()); });
    const bool no_links = error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK || error == EXDEV;
    if (error != 0 && error != EEXIST && !no_links) {
        fail_on_file(to, "link the finished file to", error);
    }
    return error;
}

void remove_file(const std::filesystem::path& path) {
    const int error = attempt("unlink", [&] { return ::unlink(path.c_str()); });
    if (error != 0 && error != ENOENT) {
        fail_on_file(path, "remove", error);
    }
}

std::optional<struct ::stat> status_of(const std::filesystem::path& path) {
    struct stat status = {};
    const int error = attempt("stat", [&] { return ::lstat(path.c_str(), &status); });
    if (error == ENOENT || error == ENOTDIR) {
        return std::nullopt;
    }
    if (error != 0) {
        fail_on_file(path, "look at", error);
    }
    return status;
}

std::vector<std::string> names_in_folder(const std::filesystem::path& path) {
    const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
    std::vector<std::string> names;
    if (folder == nullptr) {
        if (errno != ENOENT) {
            fail_on_file(path, "list", errno);
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
    std::string text(std::min<std::uint64_t>(file->size(), most + 1), '\0');
    if (!file->read_at(0, std::as_writable_bytes(std::span(text)))) {
        text.clear();  // it has shrunk since: what is there is no whole file
    }
    return text;
}

void write_text_durably(const std::filesystem::path& path, std::string_view text) {
    const std::filesystem::path next = path.native() + ".new";
    remove_file(next);
    File file = File::create(next);
    file.write_at(0, text);
    file.sync();
    file.close();
    if (const int error = rename_to(next, path); error != 0) {
        fail_on_file(path, "rename a file to", error);
    }
    sync_folder(path.parent_path());
}

std::string make_unique_id() {
    std::array<std::uint64_t, 2> bits{};
    // Up to 256 bytes come whole and uninterrupted once the kernel's pool is ready: getrandom(2).
    expects(::getrandom(bits.data(), sizeof bits, 0) == sizeof bits, "the kernel gives random bytes");
    return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

}  // namespace sluice
