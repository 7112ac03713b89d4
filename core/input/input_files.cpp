#include "core/input/input_files.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <glob.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "core/config/file_pattern.hpp"
#include "core/error.hpp"
#include "core/files/checksum.hpp"
#include "core/files/paths.hpp"
#include "core/input/record_index.hpp"
#include "core/process/fault_point.hpp"
#include "core/sync/work_team.hpp"

namespace sluice {
namespace {

using Path = std::filesystem::path;

constexpr rlim_t other_descriptors = 256;  // least that the rest of a run needs: output, journals, MPI, devices
constexpr std::size_t files_worth_a_thread = 16;

/// A file to open, perhaps the pattern that matches it.
struct NamedFile {
    Path path;
    const Path* pattern = nullptr;
};

/// Matches of a pattern, and the first folder that could not be read.
class Matches {
public:
    explicit Matches(const Path& pattern) {
        folder_error() = {};
        found_.gl_opendir = &Matches::open_folder;
        found_.gl_readdir = &Matches::next_name;
        found_.gl_closedir = [](void* folder) { ::closedir(static_cast<DIR*>(folder)); };
        found_.gl_stat = &Matches::look_at_link;
        found_.gl_lstat = &Matches::look_for_name;
        constexpr int flags = GLOB_NOSORT | GLOB_NOESCAPE | GLOB_ALTDIRFUNC;
        const int end = ::glob(pattern.c_str(), flags, &Matches::stop_at_error, &found_);
        if (end == GLOB_NOSPACE) {
            ::globfree(&found_);
            throw std::bad_alloc();
        }
        if (const auto& [folder, error] = folder_error(); error != 0) {
            ::globfree(&found_);
            refuse_at_limit(folder, "open", error);
            throw Error(ExitCode::no_input,
                        {"E-INP-028", folder, fmt::format("cannot read the folder: {}", system_text(error)),
                         fmt::format("{} needs its names: allow reading it", quoted(pattern.native()))});
        }
    }
    ~Matches() { ::globfree(&found_); }
    Matches(const Matches&) = delete;
    Matches& operator=(const Matches&) = delete;

    [[nodiscard]] std::span<char* const> paths() const { return {found_.gl_pathv, found_.gl_pathc}; }

private:
    /// glob() hands nothing else to its callback.
    static std::pair<std::string, int>& folder_error() {
        thread_local std::pair<std::string, int> error;
        return error;
    }

    /// A folder that is missing matches nothing.
    static int stop_at_error(const char* folder, int error) {
        if (error == ENOENT) {
            return 0;
        }
        folder_error() = {escaped(folder), error};
        return 1;
    }

    [[nodiscard]] static bool is_missing(int error) {
        return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == ELOOP;
    }

    /// That glob() lists; it closes one before it opens the next.
    static std::string& open_folder_name() {
        thread_local std::string name;
        return name;
    }

    static void* open_folder(const char* folder) {
        open_folder_name() = folder;
        return ::opendir(folder);
    }

    /// glob() takes an error for the folder's end.
    static ::dirent* next_name(void* folder) {
        errno = fault_at_call("list");
        ::dirent* const entry = errno != 0 ? nullptr : ::readdir(static_cast<DIR*>(folder));
        if (entry == nullptr && errno != 0 && folder_error().second == 0) {
            folder_error() = {escaped(open_folder_name()), errno};
        }
        return entry;
    }

    // glob() takes any error of the following two for a name that does not match.

    /// Looks for a part without wildcards in a folder that the parts before it match.
    static int look_for_name(const char* path, struct ::stat* status) {
        const int end = ::lstat(path, status);
        if (const int error = errno; end != 0 && !is_missing(error) && folder_error().second == 0) {
            folder_error() = {escaped(Path(path).parent_path().native()), error};
        }
        return end;
    }

    /// Looks whether a link leads to a folder, before its name is compared: if that cannot be seen it may be one, and
    /// what follows fails if the name matches.
    static int look_at_link(const char* path, struct ::stat* status) {
        const int end = ::stat(path, status);
        if (end != 0 && !is_missing(errno)) {
            *status = {};
            status->st_mode = S_IFDIR;
            return 0;
        }
        return end;
    }

    glob_t found_{};
};

bool is_there(const Path& path) {
    std::error_code unknown;
    return std::filesystem::exists(path, unknown);
}

[[noreturn]] void refuse_without_match(const Path& pattern) {
    throw Error(ExitCode::no_input, {"E-INP-180", escaped(pattern.native()), "the pattern matches no file",
                                     hint_for_missing_input(pattern)});
}

/// glob() calls itself for each part of a pattern, which no file could match beyond this length.
void check_length(const Path& pattern) {
    if (const std::size_t length = pattern.native().size(); length >= PATH_MAX) {
        throw Error(ExitCode::no_input,
                    {"E-INP-180", escaped(pattern.native()),
                     fmt::format("the pattern has {} bytes, and no file's path has more than {}", length, PATH_MAX - 1),
                     "shorten it"});
    }
}

void add_matches(const Path& pattern, std::vector<NamedFile>& files) {
    check_length(pattern);
    const Matches matches(pattern);
    std::vector<std::string> paths(matches.paths().begin(), matches.paths().end());
    std::ranges::sort(paths);
    for (std::string& path : paths) {
        files.push_back({std::move(path), &pattern});
    }
    if (paths.empty()) {
        refuse_without_match(pattern);
    }
}

/// `paths` outlive them.
std::vector<NamedFile> name_files(std::span<const Path> paths) {
    std::vector<NamedFile> files;
    for (const Path& path : paths) {
        const Path plain = without_brackets(path);
        if (is_there(path)) {
            files.push_back({path});
        } else if (!has_wildcards(path) || is_there(plain)) {
            files.push_back({plain});
        } else {
            add_matches(path, files);
        }
    }
    return files;
}

/// For `files` more open files than now.
void allow_open_files(std::size_t files) {
    rlimit limit = {};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return;  // opening them says what is wrong
    }
    if (limit.rlim_max < files + other_descriptors) {
        throw Error(
            ExitCode::out_of_memory,
            {"E-IO-005", "input.path",
             fmt::format("{} files, which are open while the job runs, but a process may open {}, of which it "
                         "needs {} for other things",
                         files, limit.rlim_max, other_descriptors),
             fmt::format("raise the hard limit (ulimit -Hn) to {} or more, or join files", files + other_descriptors)});
    }
    const rlim_t wanted = limit.rlim_cur > limit.rlim_max - files ? limit.rlim_max : limit.rlim_cur + files;
    if (wanted > limit.rlim_cur) {
        limit.rlim_cur = wanted;
        static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));  // opening them says what is wrong
    }
}

bool is_folder(const Path& path) {
    std::error_code unknown;
    return std::filesystem::is_directory(path, unknown);
}

/// Null: a folder that a pattern matches.
InputFiles open_all(const std::vector<NamedFile>& named) {
    InputFiles files(named.size());
    const auto open = [&](std::size_t i) {
        if (named[i].pattern == nullptr || !is_folder(named[i].path)) {
            files[i] = std::make_unique<const InputFile>(named[i].path);
        }
    };
    for_all_files(named.size(), open);
    return files;
}

void refuse_patterns_of_folders(const std::vector<NamedFile>& named, const InputFiles& files) {
    std::map<const Path*, bool> has_file;
    for (std::size_t i = 0; i < named.size(); ++i) {
        has_file[named[i].pattern] |= files[i] != nullptr;
    }
    for (const NamedFile& file : named) {
        if (!has_file[file.pattern]) {
            refuse_without_match(*file.pattern);
        }
    }
}

void refuse_same_file_twice(const InputFiles& files) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, const InputFile*> met;
    for (const auto& file : files) {
        if (const auto [earlier, is_new] = met.emplace(file->id(), file.get()); !is_new) {
            const InputFile& first = *earlier->second;
            throw Error(ExitCode::configuration,
                        {"E-INP-181", file->where(),
                         first.path() == file->path()
                             ? std::string("input.path names this file twice")
                             : fmt::format("is the same file as {}, which input.path names, too", first.where()),
                         "name each file once, also by patterns and links"});
        }
    }
}

}  // namespace

InputFiles open_input_files(std::span<const std::filesystem::path> paths) {
    const std::vector<NamedFile> named = name_files(paths);
    if (named.size() > 1) {
        allow_open_files(named.size());
    }
    InputFiles files = open_all(named);
    refuse_patterns_of_folders(named, files);
    std::erase(files, nullptr);
    refuse_same_file_twice(files);
    return files;
}

std::string stamp_of(const InputFiles& files) {
    if (files.size() == 1) {
        return files.front()->stamp();
    }
    std::string stamps;
    std::uint64_t bytes = 0;
    for (const auto& file : files) {
        stamps += file->stamp() + '\n';
        bytes += file->size();
    }
    return fmt::format("{} files, {} bytes, XXH3 {}", files.size(), bytes, fingerprint_of(stamps));
}

void for_all_files(std::size_t files, FunctionRef<void(std::size_t)> work) {
    std::mutex mutex;
    std::exception_ptr failure;  // of the file `failed`
    std::atomic<std::size_t> failed = files;
    const auto helpers = std::min<std::size_t>(most_index_threads() - 1, files / files_worth_a_thread);
    const auto work_on = [&](std::uint32_t i) {
        if (i > failed) {
            return;
        }
        try {
            work(i);
        } catch (...) {  // which of them is reported does not depend on the threads
            const std::lock_guard lock(mutex);
            if (i < failed) {
                failed = i;
                failure = std::current_exception();
            }
        }
    };
    WorkTeam(static_cast<std::uint32_t>(helpers)).run(static_cast<std::uint32_t>(files), work_on);
    if (failure) {
        std::rethrow_exception(failure);
    }
}

}  // namespace sluice
