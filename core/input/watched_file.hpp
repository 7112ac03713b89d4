#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/descriptor.hpp"

namespace sluice {

/// What an open file held when it was opened, and what has become of it and of its path since. Thread-safe.
///
/// Content is told by the size and by a checksum of a sample: all of a file of up to 256 KiB, else 64 blocks of 4 KiB,
/// the first, the last and others evenly between. So a copy at any place and of any time is the same content.
class WatchedFile {
public:
    /// `file` is open for reading and was found at `path`. Waits until the file system's clock has left the tick of the
    /// last change, so that the next one shows, where the sample is not the whole file. Throws Error: io_error.
    WatchedFile(Descriptor file, std::filesystem::path path);

    [[nodiscard]] std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(opened_.st_size); }

    /// As Descriptor::read_at.
    [[nodiscard]] Descriptor::Read read_at(std::uint64_t offset, std::span<std::byte> to) const noexcept {
        return file_.read_at(offset, to);
    }

    /// "1234 bytes, XXH3 0123456789abcdef0123456789abcdef", or "…, XXH3 of 64 blocks …": the same for the same content.
    [[nodiscard]] const std::string& stamp() const noexcept { return stamp_; }

    /// What has been done to the file: "truncated while running (got 5 bytes, expected 14 …)"; empty: nothing. It looks
    /// at size and times; if only the status has changed, as by a link, a rename or a forged time, at the sample
    /// too. Throws Error: io_error.
    [[nodiscard]] std::string change() const;

    /// The same by its sample in any case; or that its path leads to a file of other content. A copy of the same
    /// content there, or nothing at all, is no change.
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
