#include "core/input/input_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "core/config/file_pattern.hpp"
#include "core/error.hpp"
#include "core/files/opened_file.hpp"
#include "core/files/paths.hpp"
#include "core/input/lfs_pointer.hpp"
#include "core/trace/trace.hpp"

namespace sluice {
namespace {

struct Magic {
    std::string_view bytes;
    std::string_view name;
    std::string_view unpack;
};
constexpr std::array<Magic, 6> compressed_starts = {{
    {"\x1f\x8b", "gzip", "gunzip"},
    {"\x28\xb5\x2f\xfd", "Zstandard", "zstd -d"},
    {"\xfd\x37\x7a\x58\x5a", "xz", "unxz"},
    {"BZh91AY&SY", "bzip2", "bunzip2"},
    {"\x04\x22\x4d\x18", "LZ4", "lz4 -d"},
    {"PK\x03\x04", "zip", "unzip"},
}};

std::string hint_for(const OpenedFile& opened, const std::filesystem::path& path) {
    switch (opened.error) {
        case 0:
            return opened.is_folder()
                       ? fmt::format("name its files, as in {}", escaped(pattern_in(path, "*.csv").native()))
                       : "name a file in [input].path";
        case ENOENT:
            return hint_for_missing_input(path);
        case EACCES:
            return "allow reading the file and entering its folders";
        default:
            return "";
    }
}

Descriptor open_input(const std::filesystem::path& path, const std::string& where) {
    if (path.native().find('\0') != std::string::npos) {
        throw Error(ExitCode::no_input, {"E-INP-028", where, "cannot open: the path has a NUL byte", ""});
    }
    OpenedFile opened = open_file(path);
    if (!opened.is_regular()) {
        throw Error(ExitCode::no_input, {"E-INP-028", where, opened.problem(), hint_for(opened, path)});
    }
    return std::move(opened.file);
}

std::string start_of(const InputFile& file, std::size_t bytes) {
    std::string start(std::min<std::uint64_t>(bytes, file.size()), '\0');
    file.read(0, std::as_writable_bytes(std::span(start)));
    return start;
}

const Magic* compression(const InputFile& file) {
    constexpr std::size_t longest = 10;
    const std::string start = start_of(file, longest);
    for (const Magic& magic : compressed_starts) {
        if (start.starts_with(magic.bytes)) {
            return &magic;
        }
    }
    return nullptr;
}

}  // namespace

std::string hint_for_missing_input(const std::filesystem::path& path) {
    return hint_for_missing(
        path.is_absolute() ? "check [input].path" : "check [input].path; it is relative to the job file's folder",
        path);
}

InputFile::InputFile(const std::filesystem::path& path)
    : where_(escaped(path.native())), watched_(open_input(path, where_), path) {}

void InputFile::read(std::uint64_t offset, std::span<std::byte> to) const {
    expects(offset <= size() && to.size() <= size() - offset, "InputFile::read stays inside the file");
    InnerWork& work = file_reads_of_thread();
    const InnerTimer timer(work);
    work.bytes += to.size();
    bytes_read_.fetch_add(to.size(), std::memory_order_relaxed);
    const auto [bytes, error] = watched_.read_at(offset, to);
    if (error != 0) {
        throw Error(ExitCode::io_error,
                    {"E-IO-003", where_, fmt::format("cannot read at byte {}: {}", offset + bytes, system_text(error)),
                     "check the file system, then run the same command again"});
    }
    if (bytes < to.size()) {
        check_unchanged();  // says what size it has now
        refuse_change("truncated while running, and extended again");
    }
}

void InputFile::check_unchanged() const {
    refuse_change(watched_.change());
}

void InputFile::check_content() const {
    refuse_change(watched_.change_of_content());
}

void InputFile::refuse_change(const std::string& what) const {
    if (!what.empty()) {
        reject("E-INP-034", what, "do not change the input while a job reads it");
    }
}

void InputFile::reject(const char* id, std::string what, std::string hint) const {
    throw Error(ExitCode::bad_data, {id, where_, std::move(what), std::move(hint)});
}

void refuse_lfs_pointer(const InputFile& file) {
    if (is_lfs_pointer(start_of(file, lfs_pointer_start.size()))) {
        file.reject("E-INP-031", "this is a Git LFS pointer, not the data", "git lfs pull");
    }
}

std::string compression_of(const InputFile& file) {
    const Magic* magic = compression(file);
    return magic == nullptr ? std::string() : std::string(magic->name);
}

void refuse_compressed(const InputFile& file) {
    if (const Magic* magic = compression(file); magic != nullptr) {
        file.reject("E-INP-031", fmt::format("is compressed in {} format, expected it unpacked", magic->name),
                    fmt::format("unpack it first with {}", magic->unpack));
    }
}

}  // namespace sluice
