#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/system/descriptor.hpp"

namespace sluice {

// All system calls of core/commit on files. Each is a fault point, none is repeated after an error, and each failure is
// an Error with path, operation, errno's text and a hint. Paths below a HeldFolder are resolved from its descriptor.

/// Throws the Error for the errno `error`: io_error with E-IO-002 (no space), E-IO-003 or E-IO-004 (file size limit);
/// out_of_memory with E-IO-005 (too many open files); or, if the path is at fault, cannot_create with E-OUT-021, or
/// no_input with E-IO-008 for an `operation` that only reads.
[[noreturn]] void fail_on_file(const std::filesystem::path& path, const char* operation, int error);

/// The same error of a run under way, which could write there before, so that another path is not the remedy: E-OUT-021
/// and E-IO-008 become io_error with E-IO-003.
[[nodiscard]] Error while_running(const Error& error);

/// A file of which the disk cannot return a block (EIO and the like): its bytes have to be computed again.
class UnreadableFile : public Error {
public:
    UnreadableFile(const Error& error, std::filesystem::path path) : Error(error), path_(std::move(path)) {}

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

/// An open file. After writing, call close(): the destructor closes too, but cannot report errors.
class File {
public:
    /// Creates a file for writing, with mode 0666 less the umask. Throws Error if it exists.
    [[nodiscard]] static File create(const std::filesystem::path& path);
    /// nullopt: it exists.
    [[nodiscard]] static std::optional<File> create_if_absent(const std::filesystem::path& path);
    /// Opens for reading, without ever blocking. Throws Error (refused, E-SEC-118) for anything but a regular file,
    /// such as a symbolic link or a pipe.
    [[nodiscard]] static File open(const std::filesystem::path& path);
    /// nullopt: it does not exist.
    [[nodiscard]] static std::optional<File> open_if_there(const std::filesystem::path& path);

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] struct ::stat status() const;
    [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(status().st_size); }

    void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;
    void write_at(std::uint64_t offset, std::string_view text) const {
        write_at(offset, std::as_bytes(std::span(text)));
    }

    /// Returns false if the file ends before `to` is full. Throws UnreadableFile, or another Error.
    [[nodiscard]] bool read_at(std::uint64_t offset, std::span<std::byte> to) const;

    /// Copies `bytes` bytes of `from`, from its byte `begin` on, to `offset`, by the file system itself if it can.
    /// Throws UnreadableFile if reading `from` fails.
    void copy_at(std::uint64_t offset, const File& from, std::uint64_t begin, std::uint64_t bytes) const;

    /// Makes the kernel start writing these bytes to the disk, so that a later sync takes less time. Guarantees
    /// nothing.
    void start_writing_back(std::uint64_t offset, std::uint64_t bytes) const;
    void sync_data() const;
    void sync() const;
    void close();

private:
    File(std::filesystem::path path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

    [[nodiscard]] bool read_as(const char* name, std::uint64_t offset, std::span<std::byte> to) const;
    void sync_by(const char* name, int (&call)(int)) const;

    std::filesystem::path path_;
    Descriptor file_;
};

/// The mode of folders that are this user's alone.
inline constexpr unsigned private_folder = 0700;

/// Creates a folder with `mode` less the umask. Returns false if it exists.
bool make_folder(const std::filesystem::path& path, unsigned mode = private_folder);

/// Makes creations, links, renames and removals in the folder durable.
void sync_folder(const std::filesystem::path& path);

/// Renames a file, replacing another, or a folder to a free name. Returns 0, EEXIST, ENOTEMPTY or ENOENT.
[[nodiscard]] int rename_to(const std::filesystem::path& from, const std::filesystem::path& to);

/// Renames a file to a free name. Returns 0, EEXIST, or an errno that means that the file system cannot do this.
[[nodiscard]] int rename_to_free_name(const std::filesystem::path& from, const std::filesystem::path& to);

/// Makes a hard link. Returns 0, EEXIST, or an errno that means that the file system has none.
[[nodiscard]] int link_to(const std::filesystem::path& from, const std::filesystem::path& to);

/// A missing file is no error.
void remove_file(const std::filesystem::path& path);

/// The same for a file that clean_run would remove later; returns false if it cannot be removed now.
[[nodiscard]] bool try_to_remove_file(const std::filesystem::path& path);

/// Removes a folder and its contents, without following links. A missing folder is no error.
void remove_folder(const std::filesystem::path& path);

/// Returns 0, or an errno, such as ENOTEMPTY.
[[nodiscard]] int remove_empty_folder(const std::filesystem::path& path);

/// Status of what is at `path`, without following links; nullopt: nothing.
[[nodiscard]] std::optional<struct ::stat> status_of(const std::filesystem::path& path);

/// Bytes that may still be written to the file system on which `path` lies; the most there are if it does not tell.
[[nodiscard]] std::uint64_t free_bytes(const std::filesystem::path& path);

/// Whether both exist and are the same file under two names.
[[nodiscard]] bool same_file(const std::filesystem::path& one, const std::filesystem::path& other);

/// Names in a folder, sorted; empty if it does not exist.
[[nodiscard]] std::vector<std::string> names_in_folder(const std::filesystem::path& path);

/// Content of a control file; nullopt: it does not exist. Of a file of more than `most` bytes, the first `most` + 1.
/// Throws Error as File::open, and for a file made by neither this user nor root (is_trusted_owner).
[[nodiscard]] std::optional<std::string> read_text(const std::filesystem::path& path, std::size_t most);

/// Writes a file atomically and durably: writes and syncs a new file beside it, renames it, and syncs the folder.
void write_text_durably(const std::filesystem::path& path, std::string_view text);

}  // namespace sluice
