#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/system/descriptor.hpp"

namespace sluice {

/// Whose a folder, and the control files in it, may be.
enum class FolderTrust : std::uint8_t {
    only_mine,  ///< This user's, and writable by no one else: a run's folder, to work in.
    mine,       ///< This user's or root's: a folder of parts, to publish in.
    any,        ///< Any user's; links on its path are followed: to read, or to create a file in.
};

/// A folder accessed through its descriptor. While it lives, core/commit resolves every path below it, in the whole
/// process, from the folder that was opened and checked, even if another one has taken its name meanwhile. Holding a
/// path again gives the same folder.
class HeldFolder {
public:
    /// `path` is absolute and lexically normal, without a trailing slash. Throws Error: refused (E-SEC-020) if it is a
    /// link, not a folder, or not trusted; as fail_on_file if it cannot be opened.
    HeldFolder(const std::filesystem::path& path, FolderTrust trust);

    [[nodiscard]] uid_t owner() const noexcept;

    struct State;

private:
    std::shared_ptr<const State> state_;
};

/// Whether the folder held for `path` is still at that path; if none is held, whether anything is there. Throws Error
/// (io_error) if it cannot be determined.
[[nodiscard]] bool is_in_place(const std::filesystem::path& path);

/// Whether `owner` may have made control files at `path`: this user, root, or the owner of a folder held with
/// FolderTrust::any.
[[nodiscard]] bool is_trusted_owner(const std::filesystem::path& path, uid_t owner);

/// "alice", or "user 1234" where that has no name.
[[nodiscard]] std::string user_name(uid_t user);

/// What the *at system calls take for a path: a folder's descriptor, and a name relative to it.
class FilePlace {
public:
    /// Of what stands under `path`, a held folder's own entry included.
    [[nodiscard]] static FilePlace entry(const std::filesystem::path& path);

    /// The same, but a held folder is itself.
    [[nodiscard]] static FilePlace folder(const std::filesystem::path& path);

    /// A fault point, "open". Returns 0 or an errno. The mode of a new file is 0666 less the umask.
    [[nodiscard]] int open(int flags, Descriptor& file) const;

    [[nodiscard]] int base() const noexcept;
    [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }

private:
    FilePlace(std::shared_ptr<const HeldFolder::State> held, std::string name);

    std::shared_ptr<const HeldFolder::State> held_;  // keeps the descriptor open; null: the current folder
    std::string name_;
};

}  // namespace sluice
