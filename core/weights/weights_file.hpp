#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/input/number_type.hpp"
#include "core/input/watched_file.hpp"

namespace sluice {

/// A weights file open for reading; knows its size and notices when the file changes underneath.
class WeightsFile {
public:
    /// Throws Error (no_input) when it cannot be opened or is not a regular file.
    explicit WeightsFile(const std::filesystem::path& path);
    WeightsFile(const WeightsFile&) = delete;
    WeightsFile& operator=(const WeightsFile&) = delete;

    [[nodiscard]] std::uint64_t size() const noexcept { return watched_.size(); }
    [[nodiscard]] const std::string& where() const noexcept { return where_; }

    /// Fills `to` from byte `at`; the range lies inside the file. Throws Error (bad_data) if the file got shorter.
    void read(std::uint64_t at, std::span<std::byte> to) const;

    /// Throws Error (bad_data, E-MOD-053) when size or times are no longer those of the opening.
    void check_unchanged() const;

    /// Throws Error (bad_data, E-MOD-054) unless the file still holds what it did, and its path leads nowhere else than
    /// to the same content. Thread-safe.
    void check_content() const;

    /// Throws Error (bad_data) when the file is recognisably something else: a Git LFS pointer, a PyTorch archive, …
    void refuse_known_others() const;

private:
    std::string where_;
    WatchedFile watched_;
};

/// Values of a tensor in an open file, and the room for them.
struct StoredValues {
    const WeightsFile* file;
    std::uint64_t at;         ///< Bytes from the file's begin.
    FloatType type;           ///< In the file.
    std::span<std::byte> to;  ///< Whole values of type `as`.
    FloatType as;             ///< What they become: what they are in the file, or fp32.
    std::string tensor;       ///< Its name, for messages.
};

/// Reads all of `values`, with the CPUs of this process. Throws Error (bad_data; numeric: names the first NaN or
/// infinity).
void read_finite(std::span<const StoredValues> values);

}  // namespace sluice
