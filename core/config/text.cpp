#include "core/config/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/error.hpp"
#include "core/files/opened_file.hpp"
#include "core/files/paths.hpp"
#include "core/text/utf8.hpp"

namespace sluice {
namespace {

constexpr std::size_t most_key_parts = 16;  // toml++ 3.3.0 recurses once a part and overflows its stack
constexpr std::size_t most_nesting = 32;
constexpr std::size_t kib = 1024;

/// Line and column, both from 1; columns count characters.
std::string position(std::string_view text, std::size_t at, const std::string& name) {
    const std::string_view before = text.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::string_view in_line = before.substr(before.rfind('\n') + 1);  // npos + 1 == 0
    const auto column = 1 + std::count_if(in_line.begin(), in_line.end(),
                                          [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    return fmt::format("{}:{}:{}", name, line, column);
}

void check_encoding(std::string_view text, const std::string& name) {
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
        refuse_job("E-CFG-005", name, "is UTF-16 or UTF-32 text, expected UTF-8", "save it as UTF-8");
    }
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        if (length == 0) {
            refuse_job("E-CFG-005", position(text, at, name),
                       fmt::format("invalid UTF-8 byte \\x{:02x}", static_cast<unsigned char>(text[at])),
                       "save it as UTF-8");
        }
        if (text[at] == '\0') {
            refuse_job("E-CFG-005", position(text, at, name), "NUL byte, expected text");
        }
        at += length;
    }
}

/// Where the string that starts at text[at] with a quote ends: behind its closing quote, at its line's end when it has
/// none, at the end of the text for an open multi-line one.
std::size_t behind_string(std::string_view text, std::size_t at) {
    const char quote = text[at];
    const bool long_form = text.size() - at >= 3 && text[at + 1] == quote && text[at + 2] == quote;
    const std::string_view closing = text.substr(at, long_form ? 3 : 1);
    for (std::size_t i = at + closing.size(); i < text.size(); ++i) {
        if (text.substr(i, closing.size()) == closing) {
            return i + closing.size();
        }
        if (text[i] == '\n' && !long_form) {
            return i;
        }
        if (text[i] == '\\' && quote == '"') {
            ++i;
        }
    }
    return text.size();
}

void check_depth(std::string_view text, const std::string& name) {
    std::size_t parts = 1;
    std::size_t nesting = 0;
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (c == '"' || c == '\'') {
            at = behind_string(text, at);
            continue;
        }
        if (c == '#') {
            at = std::min(text.find('\n', at), text.size());
            continue;
        }
        if (c == '.') {
            ++parts;
        } else if (c != ' ' && c != '\t' && std::string_view("=,[]{}\n").find(c) != std::string_view::npos) {
            parts = 1;
        }
        if (c == '[' || c == '{') {
            ++nesting;
        } else if ((c == ']' || c == '}') && nesting > 0) {
            --nesting;
        }
        if (parts > most_key_parts) {
            refuse_job("E-CFG-007", position(text, at, name),
                       fmt::format("a key of more than {} parts", most_key_parts));
        }
        if (nesting > most_nesting) {
            refuse_job("E-CFG-007", position(text, at, name), fmt::format("more than {} brackets deep", most_nesting));
        }
        ++at;
    }
}

[[noreturn]] void refuse_size(const std::string& name, std::size_t bytes) {
    refuse_job(
        "E-CFG-004", name,
        fmt::format("too large (got {} KiB, expected at most {} KiB)", (bytes + kib - 1) / kib, largest_job_file / kib),
        "name the job file itself");
}

}  // namespace

void refuse_job(const char* id, const std::string& where, std::string what, std::string hint) {
    throw Error(ExitCode::configuration, {id, where, std::move(what), std::move(hint)});
}

std::string read_job_text(const std::filesystem::path& path) {
    const std::string name = escaped(path.native());
    const OpenedFile opened = open_file(path);
    if (opened.error != 0) {
        const std::string why = system_text(opened.error);
        throw Error(ExitCode::no_input, {"E-CFG-001", name, "cannot open the job file: " + why + did_you_mean_job(path),
                                         "correct its path or its permissions"});
    }
    if (!opened.is_regular()) {
        throw Error(ExitCode::no_input, {"E-CFG-002", name,
                                         (opened.is_folder() ? "is a folder, expected a job file"
                                                             : "is not a regular file, expected a job file") +
                                             did_you_mean_job(path),
                                         "name the job file itself"});
    }
    if (static_cast<std::uintmax_t>(opened.status.st_size) > largest_job_file) {
        refuse_size(name, static_cast<std::size_t>(opened.status.st_size));
    }
    std::string text(largest_job_file + 1, '\0');
    const auto [size, error] = opened.file.read_at(0, std::as_writable_bytes(std::span(text)));
    if (error != 0) {
        throw Error(ExitCode::io_error,
                    {"E-IO-003", name, "cannot read: " + system_text(error), "check the file system"});
    }
    text.resize(size);
    return text;
}

std::string_view check_job_text(std::string_view text, const std::string& name) {
    if (text.size() > largest_job_file) {
        refuse_size(name, text.size());
    }
    check_encoding(text, name);
    if (text.starts_with("\xef\xbb\xbf")) {
        text.remove_prefix(3);
    }
    check_depth(text, name);
    return text;
}

}  // namespace sluice
