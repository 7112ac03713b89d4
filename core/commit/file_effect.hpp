#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/fault_point.hpp"

namespace sluice {

/// What one call of core/commit has done to the file system.
struct FileEffect {
    enum class Kind {
        create,       ///< A new, empty file.
        write,        ///< `bytes` at `offset`.
        sync,         ///< A file's bytes are durable.
        sync_failed,  ///< What was written since the last sync may never be.
        make_folder,
        sync_folder,  ///< What was made, linked, renamed or removed in it is durable.
        rename,       ///< `path` to `other`.
        link,         ///< `path` also as `other`.
        remove,       ///< A file, or an empty folder.
    };

    Kind kind = Kind::create;
    std::filesystem::path path{};
    std::filesystem::path other{};
    std::uint64_t offset = 0;
    std::string bytes{};
};

#ifdef SLUICE_FAULTS
void keep_effect(FileEffect effect);
#else
inline void keep_effect(const FileEffect&) noexcept {}
#endif

/// Tells a test build what has happened, so that a test can work out what a loss of power would leave at each moment.
/// Every other build does not even ask `effect`.
template <class Effect>
void note_effect(Effect&& effect) {
    if constexpr (has_fault_points) {
        keep_effect(effect());
    }
}

}  // namespace sluice
