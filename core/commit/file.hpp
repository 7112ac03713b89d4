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

#include "core/descriptor.hpp"
#include "core/error.hpp"

namespace sluice {

// Every system call of core/commit that touches a file: each a fault point, none repeated after an error, and each
// failure an Error with the path, what was tried, errno's text and what to do. Paths below a HeldFolder are reached by
// its descriptor.

/// Throws the Error for `error`, an errno: io_error with E-IO-002 (no space), E-IO-003 or E-IO-004 (limit of file
/// sizes), out_of_memory with E-IO-005 (too many open files), or where the path is at fault, cannot_create with
/// E-OUT-021, or no_input with E-IO-008 if it was only to be opened or looked at.
[[noreturn]] void fail_on_file(const std::filesystem::path& path, const char* operation, int error);

/// `error` as a run says it that has begun: where it could write a moment ago, no other path is asked for. E-OUT-021
/// and E-IO-008 become io_error with E-IO-003.
[[nodiscard]] Error while_running(const Error& error);

/// A block of a file that the disk does not give back (EIO and its like): its bytes have to come from elsewhere.
class UnreadableFile : public Error {
public:
    UnreadableFile(const Error& error, std::filesystem::path path) : Error(error), path_(std::move(path)) {}

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

/// An open file. Closed by the destructor, which cannot report; who has written calls close().
class File {
public:
    /// A new file to write to; it is an error when there is one. The mode is 0666 less the umask.
    [[nodiscard]] static File create(const std::filesystem::path& path);
    /// nullopt when there is one.
    [[nodiscard]] static std::optional<File> create_if_absent(const std::filesystem::path& path);
    /// To read; never waits. Throws Error (refused, E-SEC-118) for a symbolic link, a pipe, anything but a regular
    /// file.
    [[nodiscard]] static File open(const std::filesystem::path& path);
    /// nullopt when there is none.
    [[nodiscard]] static std::optional<File> open_if_there(const std::filesystem::path& path);

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] struct ::stat status() const;
    [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(status().st_size); }

    void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;
    void write_at(std::uint64_t offset, std::string_view text) const {
        write_at(offset, std::as_bytes(std::span(text)));
    }

    /// False when the file ends before `to` is full. Throws UnreadableFile, or Error.
    [[nodiscard]] bool read_at(std::uint64_t offset, std::span<std::byte> to) const;

    /// Appends `bytes` bytes of `from` at `offset`, by the file system itself where it can. Throws UnreadableFile when
    /// it is `from` that fails.
    void copy_at(std::uint64_t offset, const File& from, std::uint64_t bytes) const;

    /// Asks the kernel to begin with writing these bytes to the disk, so that a later sync has less to wait for. Says
    /// nothing about whether they are there.
    void start_writing_back(std::uint64_t offset, std::uint64_t bytes) const;
    void sync_data() const;
    void sync() const;
    void close();

private:
    File(std::filesystem::path path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

    void sync_by(const char* name, int (&call)(int)) const;

    std::filesystem::path path_;
    Descriptor file_;
};

/// False when there is a folder already. `mode` less the umask.
bool make_folder(const std::filesystem::path& path, unsigned mode);

/// Makes what was created, linked, renamed or removed in the folder durable.
void sync_folder(const std::filesystem::path& path);

/// Renames a file over another, or a folder to a name that is free. Returns 0, or EEXIST, ENOTEMPTY or ENOENT.
[[nodiscard]] int rename_to(const std::filesystem::path& from, const std::filesystem::path& to);

/// Renames a file, and replaces nothing. Returns 0, EEXIST, or an errno that says that this cannot be asked for here.
[[nodiscard]] int rename_to_free_name(const std::filesystem::path& from, const std::filesystem::path& to);

/// Returns 0, EEXIST, or an errno that says that there are no hard links here.
[[nodiscard]] int link_to(const std::filesystem::path& from, const std::filesystem::path& to);

/// No error when there is none.
void remove_file(const std::filesystem::path& path);

/// The same for a file that clean_run removes too, later: false when it cannot be removed now.
[[nodiscard]] bool try_to_remove_file(const std::filesystem::path& path);

/// A folder with all that is in it; links are not followed. No error when there is none.
void remove_folder(const std::filesystem::path& path);

/// Returns 0, or an errno: ENOTEMPTY among others.
[[nodiscard]] int remove_empty_folder(const std::filesystem::path& path);

/// What lies at `path`, links not followed; nullopt: nothing.
[[nodiscard]] std::optional<struct ::stat> status_of(const std::filesystem::path& path);

/// Whether both are there and are one file under two names.
[[nodiscard]] bool same_file(const std::filesystem::path& one, const std::filesystem::path& other);

/// The names in a folder, in order; empty when it does not exist.
[[nodiscard]] std::vector<std::string> names_in_folder(const std::filesystem::path& path);

/// A control file: the whole of it; nullopt: there is none. One of more than `most` bytes gives its first `most` + 1.
/// Throws Error as File::open, and for a file that neither this user nor root has made (is_trusted_owner).
[[nodiscard]] std::optional<std::string> read_text(const std::filesystem::path& path, std::size_t most);

/// Appears with all its bytes or not at all, and is durable: a new file beside it, synced, renamed, the folder synced.
void write_text_durably(const std::filesystem::path& path, std::string_view text);

}  // namespace sluice
