#pragma once

#include <filesystem>
#include <string_view>

namespace sluice {

enum class Placed {
    now,      ///< It is there now, and was not before.
    earlier,  ///< It was there already: the same file, or one with the same bytes, synced.
    differs,  ///< Something else is there, and was left as it is.
};

/// Makes the finished, synced file `from` appear at `to` with all its bytes, and never in place of another one: by a
/// hard link; where there are none by a copy that is made and synced in the folder `scratch`, of the same file system,
/// and renamed. It stays there once the folder of `to` is synced, which is left to the caller. Throws Error (io_error).
///
/// A file system that has neither hard links nor a rename that replaces nothing is looked at a moment before: there a
/// file that appears at `to` in that moment is replaced.
[[nodiscard]] Placed place_file(const std::filesystem::path& from, const std::filesystem::path& to,
                                const std::filesystem::path& scratch);

/// The same for a short text, written and synced in the folder `scratch` first; the folder of `to` is synced.
[[nodiscard]] Placed place_text(std::string_view text, const std::filesystem::path& to,
                                const std::filesystem::path& scratch);

}  // namespace sluice
