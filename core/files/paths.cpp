#include "core/files/paths.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/error.hpp"

namespace sluice {
namespace {

/// "~" or "$SCRATCH".
bool is_for_a_shell(std::string_view part) {
    const std::size_t dollar = part.find('$');
    const char next = dollar < part.size() - 1 ? part[dollar + 1] : '\0';
    return part == "~" || next == '{' || next == '_' || std::isalpha(static_cast<unsigned char>(next)) != 0;
}

}  // namespace

std::filesystem::path absolute_path(const std::filesystem::path& path) {
    std::error_code error;
    std::filesystem::path whole = std::filesystem::absolute(path, error);
    if (error) {
        throw Error(ExitCode::no_input, {.id = "E-IO-007",
                                         .where = escaped(path.native()),
                                         .what = fmt::format("is relative to the working folder, which cannot be "
                                                             "found: {}",
                                                             error.message()),
                                         .hint = "change to a folder that exists, or give a path that begins with /"});
    }
    return whole;
}

std::filesystem::path without_dots(const std::filesystem::path& whole) {
    std::filesystem::path plain;
    for (const std::filesystem::path& part : whole) {
        if (part == "..") {
            std::error_code unknown;  // what cannot be examined is no link
            const bool is_link = std::filesystem::is_symlink(plain, unknown);
            const std::filesystem::path target = is_link ? std::filesystem::canonical(plain, unknown) : plain;
            plain = (unknown ? plain : target).parent_path();
        } else if (part != ".") {
            plain /= part;
        }
    }
    const std::filesystem::path last = whole.filename();
    return last == "." || last == ".." ? plain / "" : plain;
}

std::filesystem::path plain_path(const std::filesystem::path& path) {
    const std::filesystem::path whole = without_dots(absolute_path(path));
    return whole.has_filename() ? whole : whole.parent_path();
}

std::string hint_for_missing(std::string hint, const std::filesystem::path& path) {
    const auto part =
        std::find_if(path.begin(), path.end(), [](const auto& one) { return is_for_a_shell(one.native()); });
    return part == path.end() ? hint
                              : fmt::format("{}; {} is taken as it is: a job's paths have no variables and no ~",
                                            std::move(hint), quoted(part->native()));
}

std::string did_you_mean_job(const std::filesystem::path& named) {
    const std::filesystem::path job = named.native() + ".toml";
    std::error_code unknown;  // what cannot be examined was not meant
    return std::filesystem::is_regular_file(job, unknown) ? fmt::format("; did you mean {}?", quoted(job.native()))
                                                          : std::string();
}

std::string lower_extension(const std::filesystem::path& path) {
    std::string extension = path.extension().native();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return extension;
}

std::string_view kind_of_file(const struct ::stat& status) {
    switch (status.st_mode & S_IFMT) {
        case S_IFDIR:
            return "a folder";
        case S_IFIFO:
            return "a pipe";
        case S_IFCHR:
        case S_IFBLK:
            return "a device";
        default:
            return "a socket";
    }
}

void refuse_at_limit(const std::string& where, const char* operation, int error) {
    if (error == EMFILE || error == ENFILE) {
        throw Error(ExitCode::out_of_memory, {.id = "E-IO-005",
                                              .where = where,
                                              .what = fmt::format("cannot {}: {}", operation, system_text(error)),
                                              .hint = "raise the limit of open files (ulimit -n)"});
    }
}

WriteFailure write_failure(int error) noexcept {
    switch (error) {
        case ENOSPC:
        case EDQUOT:
            return {.id = "E-IO-002", .hint = "free space or raise the quota, then run the same command again"};
        case EFBIG:
            return {.id = "E-IO-004", .hint = "raise the limit of file sizes (ulimit -f)"};
        default:
            return {.id = "E-IO-003", .hint = "check the file system, then run the same command again"};
    }
}

int open_to_read(const std::filesystem::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (const int error = errno; file < 0) {
        refuse_at_limit(escaped(path.native()), "open", error);
        errno = error;
    }
    return file;
}

std::filesystem::path own_program() {
    constexpr const char* link = "/proc/self/exe";
    std::error_code error;
    std::filesystem::path program = std::filesystem::read_symlink(link, error);
    refuse_at_limit(link, "read", error.value());
    if (error) {
        throw Error(ExitCode::io_error, {.id = "E-IO-003",
                                         .where = link,
                                         .what = fmt::format("cannot be read: {}", error.message()),
                                         .hint = "mount /proc"});
    }
    return program;
}

std::filesystem::path folder_for_temporary_files() {
    std::error_code error;
    std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    if (error) {
        throw Error(ExitCode::cannot_create,
                    {.id = "E-OUT-021",
                     .where = "$TMPDIR",
                     .what = fmt::format("is no folder for temporary files: {}", error.message()),
                     .hint = "set TMPDIR to an existing folder that you can write to"});
    }
    return folder;
}

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> found;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        found.push_back(entry->path());
    }
    return found;
}

std::string contents_of(const std::filesystem::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
}

std::string first_line(const std::filesystem::path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

std::string make_unique_id() {
    std::array<std::uint64_t, 2> bits{};
    // Up to 256 bytes come whole and uninterrupted once the kernel's pool is ready: getrandom(2).
    expects(::getrandom(bits.data(), sizeof bits, 0) == sizeof bits, "the kernel gives random bytes");
    return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

}  // namespace sluice
