#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace sluice {

/// A regular file, open for reading at any offset, that must stay as it is while it is open. Thread-safe. Reads with
/// pread: a file cut short under a memory map would end the process with SIGBUS.
class InputFile {
public:
    /// Throws Error (no_input) when there is no such regular file or it may not be read.
    explicit InputFile(const std::filesystem::path& path);
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;
    ~InputFile();

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

    /// The path for messages, escaped.
    [[nodiscard]] const std::string& where() const noexcept { return where_; }

    /// Fills `to` from `offset`. Throws Error: bad_data when the file has become shorter, io_error.
    void read(std::uint64_t offset, std::span<std::byte> to) const;

    /// Throws Error (bad_data) when size or time of last change are not what they were when the file was opened.
    void check_unchanged() const;

    /// Throws Error (bad_data) about the file as a whole.
    [[noreturn]] void reject(const char* id, std::string what, std::string hint = {}) const;

private:
    std::string where_;
    int descriptor_ = -1;
    std::uint64_t size_ = 0;
    std::int64_t changed_seconds_ = 0;
    std::int64_t changed_nanoseconds_ = 0;
};

/// Throws Error (bad_data) when the file is a Git LFS pointer instead of the data.
void refuse_lfs_pointer(const InputFile& file);

/// The name of the compression or archive format that the file's first bytes announce; empty: none that is known.
[[nodiscard]] std::string compression_of(const InputFile& file);

/// Throws Error (bad_data) when the file is compressed. Not for headerless binary formats, where any bytes are legal.
void refuse_compressed(const InputFile& file);

}  // namespace sluice
