#include "core/commit/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/commit/file_effect.hpp"
#include "core/commit/held_folder.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/process/fault_point.hpp"

namespace sluice {
namespace {

constexpr std::size_t copy_bytes = std::size_t{1} << 20;
constexpr const char* path_id = "E-OUT-021";
constexpr const char* access_id = "E-IO-008";

[[noreturn]] void refuse_kind(const std::filesystem::path& path, std::string_view kind) {
    throw Error(ExitCode::refused, {.id = "E-SEC-118",
                                    .where = escaped(path.native()),
                                    .what = fmt::format("is {}, expected a regular file", kind),
                                    .hint = "no run creates such a thing: remove it if you do not know it"});
}

bool cannot_copy_here(int error) {
    return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

Error error_on_file(const std::filesystem::path& path, const char* operation, int error) {
    struct Kind {
        ExitCode code;
        const char* id;
        const char* hint;
    };
    const std::string_view tried = operation;
    const bool only_looks = tried == "open" || tried == "look at" || tried == "list";
    const Kind kind = [&]() -> Kind {
        if (only_looks && (error == EACCES || error == ENAMETOOLONG)) {
            return {ExitCode::no_input, access_id, "correct the path, or the permissions of its folders"};
        }
        switch (error) {
            case EMFILE:
            case ENFILE:
                return {ExitCode::out_of_memory, "E-IO-005", "raise the limit of open files (ulimit -n)"};
            case EACCES:
            case EPERM:
            case EROFS:
            case ENOENT:
            case ENOTDIR:
            case EISDIR:
            case ELOOP:
            case ENAMETOOLONG:
            case EEXIST:
                return {ExitCode::cannot_create, path_id, "choose an existing folder that you can write to"};
            default: {
                const auto [id, hint] = write_failure(error);
                return {ExitCode::io_error, id, hint};
            }
        }
    }();
    return {kind.code,
            {.id = kind.id,
             .where = escaped(path.native()),
             .what = fmt::format("cannot {} it: {}", operation, system_text(error)),
             .hint = kind.hint}};
}

[[noreturn]] void fail_to_read(const std::filesystem::path& path, int error) {
    if (error == EIO || error == EBADMSG || error == EUCLEAN) {
        throw UnreadableFile(error_on_file(path, "read", error), path);
    }
    fail_on_file(path, "read", error);
}

}  // namespace

File File::create(const std::filesystem::path& path) {
    std::optional<File> file = create_if_absent(path);
    if (!file) {
        fail_on_file(path, "create", EEXIST);
    }
    return std::move(*file);
}

std::optional<File> File::create_if_absent(const std::filesystem::path& path) {
    Descriptor file;
    const int exclusive = is_broken("shared-folder") ? 0 : O_EXCL;
    const int error = FilePlace::entry(path).open(O_RDWR | O_CREAT | O_NOFOLLOW | exclusive, file);
    if (error != 0 && error != EEXIST) {
        fail_on_file(path, "create", error);
    }
    if (error != 0) {
        return std::nullopt;
    }
    note_effect([&] { return FileEffect{.kind = FileEffect::Kind::create, .path = path}; });
    return File(path, std::move(file));
}

File File::open(const std::filesystem::path& path) {
    std::optional<File> file = open_if_there(path);
    if (!file) {
        fail_on_file(path, "open", ENOENT);
    }
    return std::move(*file);
}

std::optional<File> File::open_if_there(const std::filesystem::path& path) {
    Descriptor file;
    const int error = FilePlace::entry(path).open(O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, file);
    if (error == ENOENT) {
        return std::nullopt;
    }
    if (error == ELOOP || error == ENXIO) {
        refuse_kind(path, error == ELOOP ? "a symbolic link" : "a socket");
    }
    if (error != 0) {
        fail_on_file(path, "open", error);
    }
    struct ::stat status = {};
    if (::fstat(file.number(), &status) != 0) {
        fail_on_file(path, "look at", errno);
    }
    if (!S_ISREG(status.st_mode)) {  // a pipe would keep a reader waiting, a device could give anything
        refuse_kind(path, kind_of_file(status));
    }
    return File(path, std::move(file));
}

struct ::stat File::status() const {
    struct stat status = {};
    if (const int error = errno_of("stat", [&] { return ::fstat(file_.number(), &status); }); error != 0) {
        fail_on_file(path_, "look at", error);
    }
    return status;
}

void File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
        ssize_t written = 0;
        const int error = errno_of("write", [&] {
            return written = ::pwrite(file_.number(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
        });
        if (error != 0 && error != EINTR) {
            fail_on_file(path_, "write", error);
        }
        if (error == 0 && written == 0) {
            fail_on_file(path_, "write", EIO);
        }
        const std::size_t done = error == 0 ? static_cast<std::size_t>(written) : 0;
        note_effect([&] {
            return FileEffect{.kind = FileEffect::Kind::write,
                              .path = path_,
                              .offset = offset,
                              .bytes = std::string(reinterpret_cast<const char*>(bytes.data()), done)};
        });
        offset += done;
        bytes = bytes.subspan(done);
    }
}

bool File::read_at(std::uint64_t offset, std::span<std::byte> to) const {
    return read_as("read", offset, to);
}

bool File::read_as(const char* name, std::uint64_t offset, std::span<std::byte> to) const {
    while (!to.empty()) {
        ssize_t got = 0;
        const int error = errno_of(
            name, [&] { return got = ::pread(file_.number(), to.data(), to.size(), static_cast<off_t>(offset)); });
        if (error != 0 && error != EINTR) {
            fail_to_read(path_, error);
        }
        if (error == 0 && got == 0) {
            return false;
        }
        const std::size_t done = error == 0 ? static_cast<std::size_t>(got) : 0;
        offset += done;
        to = to.subspan(done);
    }
    return true;
}

void File::copy_at(std::uint64_t offset, const File& from, std::uint64_t begin, std::uint64_t bytes) const {
    auto source = static_cast<off_t>(begin);
    auto target = static_cast<off_t>(offset);
    const auto end = static_cast<off_t>(begin + bytes);
    while (source < end) {
        ssize_t copied = 0;
        const int error = errno_of("copy", [&] {
            return copied = ::copy_file_range(from.file_.number(), &source, file_.number(), &target,
                                              static_cast<std::size_t>(end - source), 0);
        });
        if (cannot_copy_here(error) || error == EIO) {
            break;  // by hand, which tells whether it is reading or writing that fails
        }
        if (error != 0 && error != EINTR) {
            fail_on_file(path_, "write", error);
        }
        if (error == 0 && copied == 0) {
            break;  // some file systems give nothing where they cannot copy: reading finds out which it is
        }
        note_effect([&] {
            std::string text(error == 0 ? static_cast<std::size_t>(copied) : 0, '\0');
            expects(
                from.read_at(static_cast<std::uint64_t>(source) - text.size(), std::as_writable_bytes(std::span(text))),
                "what was copied can be read");
            return FileEffect{.kind = FileEffect::Kind::write,
                              .path = path_,
                              .offset = static_cast<std::uint64_t>(target) - text.size(),
                              .bytes = text};
        });
    }
    std::vector<std::byte> buffer(source < end ? copy_bytes : 0);
    while (source < end) {
        const auto piece = std::span(buffer).first(std::min(buffer.size(), static_cast<std::size_t>(end - source)));
        if (!from.read_as("copy.read", static_cast<std::uint64_t>(source), piece)) {
            fail_on_file(from.path_, "read to its end", EIO);
        }
        write_at(static_cast<std::uint64_t>(target), piece);
        source += static_cast<off_t>(piece.size());
        target += static_cast<off_t>(piece.size());
    }
}

void File::start_writing_back(std::uint64_t offset, std::uint64_t bytes) const {
    const int error = errno_of("writeback", [&] {
        return ::sync_file_range(file_.number(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                                 SYNC_FILE_RANGE_WRITE);
    });
    const bool unknown_here = error == ENOSYS || error == EINVAL || error == ESPIPE;
    if (error != 0 && !unknown_here) {
        fail_on_file(path_, "write", error);
    }
}

void File::sync_by(const char* name, int (&call)(int)) const {
    const int error = errno_of(name, [&] { return call(file_.number()); });
    note_effect([&] {
        return FileEffect{.kind = error == 0 ? FileEffect::Kind::sync : FileEffect::Kind::sync_failed, .path = path_};
    });
    if (error != 0) {
        fail_on_file(path_, "sync", error);
    }
}

void File::sync_data() const {
    sync_by("fdatasync", ::fdatasync);
}

void File::sync() const {
    sync_by("fsync", ::fsync);
}

void File::close() {
    expects(file_.number() >= 0, "a file is closed once");
    const int injected = fault_at_call("close");
    const int error = file_.close();
    if (injected != 0 || error != 0) {
        fail_on_file(path_, "close", injected != 0 ? injected : error);
    }
}

void fail_on_file(const std::filesystem::path& path, const char* operation, int error) {
    throw error_on_file(path, operation, error);
}

Error while_running(const Error& error) {
    ErrorText text = error.text();
    if (text.id != path_id && text.id != access_id) {
        return error;
    }
    const auto [id, hint] = write_failure(EIO);
    text.id = id;
    text.hint = hint;
    return {ExitCode::io_error, std::move(text)};
}

}  // namespace sluice
