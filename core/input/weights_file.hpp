#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "core/input/float_type.hpp"
#include "core/input/watched_file.hpp"

namespace sluice {

/// A weights file open for reading; knows its size and notices when the file changes underneath.
class WeightsFile {
public:
    /// Throws Error (no_input) when it cannot be opened or is not a regular file.
    explicit WeightsFile(const std::filesystem::path& path);
    WeightsFile(const WeightsFile&) = delete;
    WeightsFile& operator=(const WeightsFile&) = delete;

    [[nodiscard]] std::uint64_t size() const noexcept { return watched_->size(); }
    [[nodiscard]] const std::string& where() const noexcept { return where_; }

    /// Fills `to` from byte `at`; the range lies inside the file. Throws Error (bad_data) if the file got shorter.
    void read(std::uint64_t at, std::span<std::byte> to) const;

    /// Reads values of `tensor`, which lie there as `type`, and refuses NaN and infinity. Throws Error (bad_data,
    /// numeric).
    void read_finite(std::uint64_t at, FloatType type, std::span<float> to, const std::string& tensor) const;

    /// Throws Error (bad_data, E-MOD-053) when size or times are no longer those of the opening.
    void check_unchanged() const;

    /// Throws Error (bad_data, E-MOD-054) unless the file still holds what it did, and its path leads nowhere else than
    /// to the same content. Thread-safe.
    void check_content() const;

    /// Throws Error (bad_data) when the file is recognisably something else: a Git LFS pointer, a PyTorch archive, …
    void refuse_known_others() const;

private:
    std::string where_;
    Descriptor file_;
    std::optional<WatchedFile> watched_;  // always, once constructed
};

}  // namespace sluice
