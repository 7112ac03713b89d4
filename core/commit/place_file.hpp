#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace sluice {

enum class Placed {
    now,      ///< It is there now, and was not before.
    earlier,  ///< It was there already: the same file, or one with the same bytes.
    differs,  ///< Something else is there, and was left as it is.
};

/// Makes the finished file `from` appear at `to` with all its bytes, and never in place of another one: by a hard link,
/// or where there are none by a copy. A copy that an end of the process left unfinished is completed. The folder of
/// `to` is synced. Throws Error (io_error).
[[nodiscard]] Placed place_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// The same for a short text, written and synced in the folder `scratch` first. Where there are no hard links it is
/// renamed, if nothing is there a moment before.
[[nodiscard]] Placed place_text(std::string_view text, const std::filesystem::path& to,
                                const std::filesystem::path& scratch);

}  // namespace sluice
