#include "core/output/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/error.hpp"
#include "core/files/paths.hpp"

namespace sluice {
namespace {

constexpr mode_t file_mode = 0666;         // less the umask, as every tool that makes results
constexpr std::size_t suffix_length = 38;  // ".", ".tmp-" and 32 hexadecimal digits

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& path, std::string_view key)
    : where_(escaped(path.native())), key_(key), name_(path.filename().native()) {
    if (name_.empty() || path.native().find('\0') != std::string::npos) {
        refuse("E-OUT-021", "not the path of a file", "name a file in " + key_);
    }
    open_folder(path.parent_path());
    check_target();
    create_temporary();
}

OutputFile::~OutputFile() {
    file_.close();
    if (!temporary_.empty()) {
        ::unlinkat(folder_.number(), temporary_.c_str(), 0);
    }
}

void OutputFile::write(std::span<const std::byte> bytes) {
    expects(!failed_ && file_.number() >= 0, "OutputFile::write comes before publish and not after a failure");
    if (const int error = write_all(file_.number(), bytes); error != 0) {
        fail("write", error);
    }
}

void OutputFile::publish(const std::function<void()>& last_look) {
    expects(!failed_ && file_.number() >= 0, "OutputFile::publish comes once and not after a failure");
    if (::fsync(file_.number()) != 0) {
        fail("sync", errno);
    }
    if (const int error = file_.close(); error != 0) {
        fail("close", error);
    }
    if (last_look) {
        last_look();
    }
    if (::renameat(folder_.number(), temporary_.c_str(), folder_.number(), name_.c_str()) != 0) {
        fail("rename the finished file to", errno);
    }
    temporary_.clear();
    // EINVAL: a file system whose folders cannot be synced, which is the best it offers.
    if (::fsync(folder_.number()) != 0 && errno != EINVAL) {
        fail("sync the folder of", errno);
    }
}

void OutputFile::open_folder(const std::filesystem::path& folder) {
    const std::filesystem::path opened = folder.empty() ? std::filesystem::path(".") : folder;
    folder_ = Descriptor(::open(opened.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder_.number() < 0) {
        const int error = errno;
        refuse_at_limit(where_, "open its folder", error);
        refuse("E-OUT-021",
               fmt::format("cannot open the folder {}: {}", sluice::quoted(opened.native()), system_text(error)),
               error == ENOENT ? hint_for_missing("create the folder first", opened)
                               : "choose a folder that you may write to");
    }
}

/// rename() would replace a link or a device itself, which nobody means.
void OutputFile::check_target() const {
    struct stat status = {};
    if (::fstatat(folder_.number(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT) {
            refuse("E-OUT-021", "cannot create: " + system_text(errno), "choose another " + key_);
        }
        return;
    }
    if (!S_ISREG(status.st_mode)) {
        const char* kind = S_ISDIR(status.st_mode)   ? "a folder"
                           : S_ISLNK(status.st_mode) ? "a symbolic link"
                                                     : "a device or pipe";
        refuse("E-OUT-021", fmt::format("is {} (expected a file or nothing)", kind),
               fmt::format("choose another {}{}", key_,
                           S_ISDIR(status.st_mode) ? "; that of a folder of parts ends with a slash" : ""));
    }
}

void OutputFile::create_temporary() {
    const std::string stem = name_.substr(0, NAME_MAX - suffix_length);
    std::string candidate = fmt::format(".{}.tmp-{}", stem, make_unique_id());
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    file_ = Descriptor(::openat(folder_.number(), candidate.c_str(), flags, file_mode));
    if (file_.number() >= 0) {
        temporary_ = std::move(candidate);
        return;
    }
    const int error = errno;
    refuse_at_limit(where_, "create it", error);
    const bool full = error == ENOSPC || error == EDQUOT;
    refuse("E-OUT-021", "cannot create a file in its folder: " + system_text(error),
           full ? "free space or inodes" : "choose a folder that you may write to");
}

void OutputFile::refuse(const char* id, const std::string& what, const std::string& hint) const {
    throw Error(ExitCode::cannot_create, {id, where_, what, hint});
}

void OutputFile::fail(const char* operation, int error) {
    failed_ = true;
    const auto [id, hint] = write_failure(error);
    throw Error(ExitCode::io_error,
                {id, where_, fmt::format("cannot {} the output: {}", operation, system_text(error)), hint});
}

}  // namespace sluice
