#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/app.hpp"
#include "core/config/config.hpp"

namespace sluice::bench {

/// A temporary folder inside `inside`, removed with its contents.
class ScratchFolder {
public:
    /// Throws std::system_error.
    explicit ScratchFolder(const std::filesystem::path& inside);
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    ~ScratchFolder();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

/// An input file: `block_items` random items, repeated.
struct ReaderFile {
    JobConfig::Input input{};
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;
    std::vector<std::byte> block{};  ///< The repeated items, packed.
};

/// "bin", "npy" (fp32 both), "u8", "csv" or "jsonl".
[[nodiscard]] const std::vector<std::string_view>& reader_formats();

/// Writes at least `items` items of the app in one of those formats, on `threads` threads, and syncs them, so that no
/// write-back disturbs a measurement. The file stays in the page cache as far as it fits.
[[nodiscard]] ReaderFile write_reader_file(const std::filesystem::path& folder, std::string_view format,
                                           std::uint64_t items, const ItemCodec& codec, std::uint32_t threads);

}  // namespace sluice::bench
