#include "tools/doctor/output_facts.hpp"

#include <fmt/format.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "core/error.hpp"
#include "core/files/paths.hpp"

namespace sluice {
namespace {

struct FileSystem {
    std::uint32_t magic;
    const char* name;
    bool in_memory;
};

constexpr std::uint32_t lustre_magic = 0x0BD00BD0;
constexpr std::uint32_t gpfs_magic = 0x47504653;
constexpr std::uint32_t beegfs_magic = 0x19830326;
constexpr std::array file_systems{
    FileSystem{TMPFS_MAGIC, "tmpfs", true},
    FileSystem{RAMFS_MAGIC, "ramfs", true},
    FileSystem{OVERLAYFS_SUPER_MAGIC, "overlay", false},
    FileSystem{NFS_SUPER_MAGIC, "nfs", false},
    FileSystem{EXT4_SUPER_MAGIC, "ext4", false},
    FileSystem{XFS_SUPER_MAGIC, "xfs", false},
    FileSystem{BTRFS_SUPER_MAGIC, "btrfs", false},
    FileSystem{lustre_magic, "lustre", false},
    FileSystem{gpfs_magic, "gpfs", false},
    FileSystem{beegfs_magic, "beegfs", false},
};

/// In which a run makes its first file or folder: a folder of parts itself, if it is there.
std::filesystem::path folder_of(const std::filesystem::path& output) {
    std::error_code none;
    const bool is_inside = output.has_filename() || std::filesystem::is_directory(output, none);
    const std::filesystem::path path = is_inside ? output : output.parent_path();
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    std::error_code unknown;  // if the current folder is unknown, the path is used as it is
    std::filesystem::path whole = without_dots(std::filesystem::absolute(folder, unknown));
    return unknown ? folder : whole;
}

}  // namespace

OutputFacts look_at_output(const std::filesystem::path& path) {
    const std::filesystem::path folder = folder_of(path);
    OutputFacts facts{.folder = escaped(folder.native())};
    struct statfs status {};
    if (::statfs(folder.c_str(), &status) != 0 || ::access((folder / "").c_str(), W_OK | X_OK) != 0) {
        facts.why_not = fmt::format("nothing can be written there: {}", system_text(errno));
        return facts;
    }
    const auto magic = static_cast<std::uint32_t>(status.f_type);
    for (const FileSystem& one : file_systems) {
        if (one.magic == magic) {
            facts.file_system = one.name;
            facts.in_memory = one.in_memory;
        }
    }
    facts.free_bytes = static_cast<std::uint64_t>(status.f_bavail) * static_cast<std::uint64_t>(status.f_frsize);
    facts.free_files = status.f_files == 0 ? UINT64_MAX : static_cast<std::uint64_t>(status.f_ffree);
    return facts;
}

OutputMarker::OutputMarker(const std::filesystem::path& output, OutputFacts& facts) {
    if (!facts.why_not.empty()) {
        return;
    }
    std::string name = (folder_of(output) / ".sluice-doctor-XXXXXX").native();
    const int file = ::mkstemp(name.data());
    if (file < 0) {
        if (facts.free_files != 0) {
            facts.why_not = fmt::format("no file can be made there: {}", system_text(errno));
        }
        return;
    }
    ::close(file);
    path_ = name;
}

OutputMarker::~OutputMarker() {
    if (!path_.empty()) {
        ::unlink(path_.c_str());
    }
}

}  // namespace sluice
