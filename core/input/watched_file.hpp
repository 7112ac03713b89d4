#pragma once

#include <sys/stat.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "core/system/descriptor.hpp"

namespace sluice {

/// Whether a change of a file from `now` on, by the clock of its file system, leaves another time than the last one.
[[nodiscard]] bool is_settled(const timespec& last_change, const timespec& now) noexcept;

/// An open file, and whether its content, or that of its path, has changed since. Thread-safe.
///
/// Content is identified by the size and a checksum of a sample: the whole file up to 256 KiB, else 64 blocks of 4 KiB,
/// the first, the last and others evenly between. A copy, wherever and however old, has the same content.
class WatchedFile {
public:
    /// `file` is open for reading and was found at `path`. If the sample is not the whole file, waits until the file
    /// system's clock has passed the last change, so that a further one shows in the times; but only briefly for a file
    /// that somebody keeps writing. Throws Error (io_error).
    WatchedFile(Descriptor file, std::filesystem::path path);

    [[nodiscard]] std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(opened_.st_size); }

    /// Device and inode: equal only for the same file.
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> id() const noexcept {
        return {opened_.st_dev, opened_.st_ino};
    }

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    /// As Descriptor::read_at.
    [[nodiscard]] Descriptor::Read read_at(std::uint64_t offset, std::span<std::byte> to) const noexcept {
        return file_.read_at(offset, to);
    }

    /// "1234 bytes, XXH3 0123456789abcdef0123456789abcdef", or "…, XXH3 of 64 blocks …": equal for equal content.
    [[nodiscard]] const std::string& stamp() const noexcept { return stamp_; }

    /// How the file has changed: "truncated while running (got 5 bytes, expected 14 …)"; empty: not at all. Compares
    /// size and times and, if only the status has changed, as by a link, a rename or a forged time, the sample. Throws
    /// Error (io_error).
    [[nodiscard]] std::string change() const;

    /// The same, always comparing the sample; also if its path now leads to a file of other content. A file of the same
    /// content there, or none, is no change.
    [[nodiscard]] std::string change_of_content() const;

private:
    [[nodiscard]] std::string change_at_path() const;

    Descriptor file_;
    std::filesystem::path path_;
    struct stat opened_ {};
    bool times_show_changes_ = false;  // any change shows in them
    std::string stamp_;
    mutable std::atomic<std::int64_t> status_changed_{0};  // in ns: the latest at which the sample was still the same
};

}  // namespace sluice
