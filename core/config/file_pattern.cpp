#include "core/config/file_pattern.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/files/paths.hpp"

namespace sluice {
namespace {

using Path = std::filesystem::path;

constexpr std::string_view special = "*?[";

bool is_special(char c) {
    return special.find(c) != std::string_view::npos;
}

/// Whether "[*]", or another character in brackets of its own, stands at `at`.
bool is_bracketed(std::string_view text, std::size_t at) {
    return text.size() - at >= 3 && text[at] == '[' && is_special(text[at + 1]) && text[at + 2] == ']';
}

/// Of a single name.
bool is_wild(std::string_view name) {
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (is_bracketed(name, i)) {
            i += 2;
        } else if (name[i] == '*' || name[i] == '?' ||
                   (name[i] == '[' && name.find(']', i + 2) != std::string_view::npos)) {
            return true;
        }
    }
    return false;
}

std::string in_brackets(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        pattern += is_special(c) ? std::string{'[', c, ']'} : std::string{c};
    }
    return pattern;
}

/// The folders before the first wildcard, without brackets, and the rest.
std::pair<Path, Path> split(const Path& pattern) {
    auto part = pattern.begin();
    Path folders;
    for (; part != pattern.end() && !is_wild(part->native()); ++part) {
        folders /= without_brackets(*part);
    }
    Path rest;
    for (; part != pattern.end(); ++part) {
        rest /= *part;
    }
    return {folders, rest};
}

}  // namespace

bool has_wildcards(const Path& path) {
    return std::ranges::any_of(path, [](const Path& part) { return is_wild(part.native()); });
}

Path as_pattern(const Path& path) {
    return in_brackets(path.native());
}

Path without_brackets(const Path& pattern) {
    const std::string_view text = pattern.native();
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool bracketed = is_bracketed(text, i);
        plain += text[bracketed ? i + 1 : i];
        i += bracketed ? 2 : 0;
    }
    return plain;
}

Path pattern_in(const Path& folder, const Path& pattern) {
    return pattern.is_absolute() ? pattern : as_pattern(folder) / pattern;
}

Path change_pattern(const Path& pattern, const std::function<Path(const Path&)>& change) {
    const auto [folders, rest] = split(pattern);
    const Path changed = as_pattern(change(folders.empty() ? Path(".") : folders));
    return rest.empty() ? changed : changed / rest;
}

bool would_match(const Path& pattern, const Path& path) {
    const auto [folders, rest] = split(pattern);
    const Path below = plain_path(path).lexically_relative(plain_path(folders.empty() ? Path(".") : folders));
    return !below.empty() && ::fnmatch(rest.c_str(), below.c_str(), FNM_NOESCAPE | FNM_PATHNAME | FNM_PERIOD) == 0;
}

}  // namespace sluice
