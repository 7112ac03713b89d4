#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

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

/// Where tests keep what has happened; null elsewhere. Called from any thread.
inline constinit std::atomic<void (*)(FileEffect)> effect_keeper{nullptr};

/// Lets a test work out what a loss of power would leave at each moment. Without one `effect` is not even asked.
template <class Effect>
void note_effect(Effect&& effect) {
    if (const auto keep = effect_keeper.load(std::memory_order_acquire); keep != nullptr) {
        keep(effect());
    }
}

}  // namespace sluice
