#include "core/io/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::string_view lfs_start = "version https://git-lfs.github.com/spec/";

struct Magic {
    std::string_view bytes;
    std::string_view name;
    std::string_view unpack;
};
constexpr std::array<Magic, 4> compressed_starts = {{
    {"\x1f\x8b", "gzip", "gunzip"},
    {"\x28\xb5\x2f\xfd", "Zstandard", "zstd -d"},
    {"\xfd\x37\x7a\x58\x5a", "xz", "unxz"},
    {"PK\x03\x04", "zip", "unzip"},
}};

std::string_view kind_of(const struct stat& status) {
    switch (status.st_mode & S_IFMT) {
        case S_IFDIR:
            return "a folder";
        case S_IFIFO:
            return "a pipe";
        case S_IFCHR:
        case S_IFBLK:
            return "a device";
        default:
            return "a socket";
    }
}

std::string text_of(int error) {
    return std::generic_category().message(error);
}

[[noreturn]] void cannot_open(const std::string& where, int error) {
    if (error == EMFILE || error == ENFILE) {
        throw Error(ExitCode::out_of_memory,
                    {"E-IO-005", where, "cannot open: " + text_of(error), "raise the limit of open files (ulimit -n)"});
    }
    const std::string hint = error == ENOENT   ? "check [input].path; it is relative to the job file's folder"
                             : error == EACCES ? "allow reading the file and entering its folders"
                                               : "";
    throw Error(ExitCode::no_input, {"E-INP-028", where, "cannot open: " + text_of(error), hint});
}

std::string start_of(const InputFile& file, std::size_t bytes) {
    std::string start(std::min<std::uint64_t>(bytes, file.size()), '\0');
    file.read(0, std::as_writable_bytes(std::span(start)));
    return start;
}

const Magic* compression(const InputFile& file) {
    for (const Magic& magic : compressed_starts) {
        if (start_of(file, magic.bytes.size()) == magic.bytes) {
            return &magic;
        }
    }
    return nullptr;
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : where_(escaped(path.native())) {
    if (path.native().find('\0') != std::string::npos) {
        throw Error(ExitCode::no_input, {"E-INP-028", where_, "cannot open: the path has a NUL byte", ""});
    }
    // O_NONBLOCK: to open a pipe without a writer would wait for ever; on regular files it changes nothing.
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor_ < 0) {
        cannot_open(where_, errno);
    }
    struct stat status = {};
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(std::exchange(descriptor_, -1));
        throw Error(ExitCode::no_input,
                    {"E-INP-028", where_, fmt::format("not a regular file (got {}, expected a file)", kind_of(status)),
                     "name a file in [input].path"});
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
    changed_seconds_ = status.st_mtim.tv_sec;
    changed_nanoseconds_ = status.st_mtim.tv_nsec;
}

InputFile::~InputFile() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> to) const {
    expects(offset <= size_ && to.size() <= size_ - offset, "InputFile::read stays inside the file");
    while (!to.empty()) {
        const ssize_t got = ::pread(descriptor_, to.data(), to.size(), static_cast<off_t>(offset));
        if (got > 0) {
            to = to.subspan(static_cast<std::size_t>(got));
            offset += static_cast<std::uint64_t>(got);
        } else if (got == 0) {
            reject(
                "E-INP-034",
                fmt::format("truncated while running (got {} bytes, expected {} as when it was opened)", offset, size_),
                "leave the input alone while a job reads it");
        } else if (errno != EINTR) {
            throw Error(ExitCode::io_error,
                        {"E-IO-003", where_, fmt::format("cannot read at byte {}: {}", offset, text_of(errno)),
                         "check the file system, then run the same command again"});
        }
    }
}

void InputFile::check_unchanged() const {
    struct stat status = {};
    if (::fstat(descriptor_, &status) != 0) {
        throw Error(ExitCode::io_error, {"E-IO-003", where_, "cannot query the file: " + text_of(errno),
                                         "check the file system, then run the same command again"});
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    const std::string hint = "leave the input alone while a job reads it";
    if (size != size_) {
        reject("E-INP-034",
               fmt::format("{} while running (got {} bytes, expected {} as when it was opened)",
                           size < size_ ? "truncated" : "changed", size, size_),
               hint);
    }
    if (status.st_mtim.tv_sec != changed_seconds_ || status.st_mtim.tv_nsec != changed_nanoseconds_) {
        reject("E-INP-034", "changed while running (same size, another time of last change)", hint);
    }
}

void InputFile::reject(const char* id, std::string what, std::string hint) const {
    throw Error(ExitCode::bad_data, {id, where_, std::move(what), std::move(hint)});
}

void refuse_lfs_pointer(const InputFile& file) {
    if (start_of(file, lfs_start.size()) == lfs_start) {
        file.reject("E-INP-031", "this is a Git LFS pointer, not the data", "git lfs pull");
    }
}

std::string compression_of(const InputFile& file) {
    const Magic* magic = compression(file);
    return magic == nullptr ? std::string() : std::string(magic->name);
}

void refuse_compressed(const InputFile& file) {
    if (const Magic* magic = compression(file); magic != nullptr) {
        file.reject("E-INP-031", fmt::format("this is a {} file (expected it unpacked)", magic->name),
                    fmt::format("unpack it first with {}", magic->unpack));
    }
}

}  // namespace sluice
