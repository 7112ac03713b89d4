#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "core/input/watched_file.hpp"

namespace sluice {

/// A regular file, open for reading at any offset, that must stay as it is while it is open. Thread-safe. Reads with
/// pread: a file cut short under a memory map would end the process with SIGBUS.
class InputFile {
public:
    /// Throws Error (no_input) when there is no such regular file or it may not be read.
    explicit InputFile(const std::filesystem::path& path);
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    [[nodiscard]] std::uint64_t size() const noexcept { return watched_.size(); }

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return watched_.path(); }

    /// As WatchedFile::id.
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> id() const noexcept { return watched_.id(); }

    /// The path for messages, escaped.
    [[nodiscard]] const std::string& where() const noexcept { return where_; }

    /// Fills `to` from `offset`. Throws Error: bad_data when the file has become shorter, io_error.
    void read(std::uint64_t offset, std::span<std::byte> to) const;

    /// By read() so far; of a file that cannot be read, what was asked for.
    [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_read_.load(std::memory_order_relaxed); }

    /// What it held when it was opened, as WatchedFile::stamp.
    [[nodiscard]] const std::string& stamp() const noexcept { return watched_.stamp(); }

    /// Throws Error (bad_data, E-INP-034) when size or times are not what they were when the file was opened. What was
    /// read before is what the file held then.
    void check_unchanged() const;

    /// The same by a sample of the content, and when the file's path leads to other content now.
    void check_content() const;

    /// Throws Error (bad_data) about the file as a whole.
    [[noreturn]] void reject(const char* id, std::string what, std::string hint = {}) const;

private:
    void refuse_change(const std::string& what) const;

    std::string where_;
    WatchedFile watched_;
    mutable std::atomic<std::uint64_t> bytes_read_{0};
};

/// What to do about an input's path or pattern that leads to nothing. Jobs that were submitted or are resumed have
/// whole paths, whatever they began as.
[[nodiscard]] std::string hint_for_missing_input(const std::filesystem::path& path);

/// Throws Error (bad_data) when the file is a Git LFS pointer instead of the data.
void refuse_lfs_pointer(const InputFile& file);

/// The name of the compression or archive format that the file's first bytes announce; empty: none that is known.
[[nodiscard]] std::string compression_of(const InputFile& file);

/// Throws Error (bad_data) when the file is compressed. Not for headerless binary formats, where any bytes are legal.
void refuse_compressed(const InputFile& file);

}  // namespace sluice
