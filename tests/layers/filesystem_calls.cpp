#include "tests/layers/filesystem_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

namespace sluice {
namespace {

const std::string functions =
    "absolute|canonical|weakly_canonical|relative|proximate|copy|copy_file|copy_symlink|create_directory|"
    "create_directories|create_directory_symlink|create_hard_link|create_symlink|current_path|equivalent|exists|"
    "file_size|hard_link_count|is_block_file|is_character_file|is_directory|is_empty|is_fifo|is_other|is_regular_file|"
    "is_socket|is_symlink|last_write_time|permissions|read_symlink|remove|remove_all|rename|resize_file|space|status|"
    "symlink_status|temp_directory_path";

/// Found by their argument's namespace too; the other names are those of functions of this project as well.
const std::string unqualified =
    "absolute|canonical|weakly_canonical|copy_file|create_directory|create_directories|create_hard_link|create_symlink|"
    "current_path|exists|file_size|is_directory|is_regular_file|is_symlink|last_write_time|read_symlink|remove_all|"
    "resize_file|symlink_status";

/// The same length and lines, blanks in place of comments.
std::string without_comments(std::string_view text) {
    std::string bare(text);
    bool in_string = false;
    for (std::size_t at = 0; at + 1 < bare.size(); ++at) {
        if (bare[at] == '\\') {
            ++at;
        } else if (bare[at] == '"' && (at == 0 || bare[at - 1] != '\'')) {
            in_string = !in_string;
        } else if (bare[at] == '\n') {
            in_string = false;
        } else if (!in_string && bare[at] == '/' && bare[at + 1] == '/') {
            for (; at < bare.size() && bare[at] != '\n'; ++at) {
                bare[at] = ' ';
            }
        }
    }
    return bare;
}

std::set<std::string> names_after(const std::string& type, const std::string& text) {
    const std::regex pattern(type + R"(&?\s+(\w+))");
    std::set<std::string> names;
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
        names.insert((*at)[1]);
    }
    return names;
}

/// The arguments of the call whose parenthesis opens at `open`, without blanks around them.
std::vector<std::string> arguments_at(const std::string& text, std::size_t open) {
    std::vector<std::string> arguments{""};
    int depth = 0;
    for (std::size_t at = open; at < text.size(); ++at) {
        const char c = text[at];
        const bool opens = c == '(' || c == '{' || c == '[';
        const bool closes = c == ')' || c == '}' || c == ']';
        if (closes && --depth == 0) {
            break;
        }
        if (c == ',' && depth == 1) {
            arguments.emplace_back();
        } else if (depth > 0 && c != ' ' && c != '\n') {
            arguments.back() += c;
        }
        depth += opens ? 1 : 0;
    }
    return arguments;
}

}  // namespace

std::vector<std::string> throwing_filesystem_calls(const std::string& file, std::string_view text) {
    if (text.find("filesystem") == std::string_view::npos && text.find("path") == std::string_view::npos) {
        return {};
    }
    const std::string bare = without_comments(text);
    const std::set<std::string> codes = names_after("std::error_code", bare);
    const std::set<std::string> statuses = names_after("file_status", bare);
    std::vector<std::string> found;
    const auto add = [&](std::ptrdiff_t at, const std::string& what) {
        found.push_back(fmt::format("{}:{}: {}", file, std::count(bare.begin(), bare.begin() + at, '\n') + 1, what));
    };
    const auto each = [&](const std::string& pattern, auto&& action) {
        const std::regex expression(pattern);
        for (std::sregex_iterator at(bare.begin(), bare.end(), expression), end; at != end; ++at) {
            action(*at);
        }
    };
    const auto look_at_call = [&](const std::smatch& call) {
        const std::vector<std::string> arguments =
            arguments_at(bare, static_cast<std::size_t>(call.position(0) + call.length(0) - 1));
        const std::string& last = arguments.back();
        const bool is_status = statuses.contains(last) || last.starts_with("std::filesystem::status(") ||
                               last.starts_with("std::filesystem::symlink_status(");
        if (!codes.contains(last) && !(arguments.size() == 1 && is_status)) {
            add(call.position(1), call[1].str() + "() throws an exception of its own");
        }
    };
    each(R"(filesystem::()" + functions + R"()\()", look_at_call);
    each(R"((?:^|[^\w.>:])()" + unqualified + R"()\()", look_at_call);
    each(R"(\b((?:recursive_)?directory_(?:iterator|entry))\b)",
         [&](const std::smatch& name) { add(name.position(1), name[1].str() + " throws an exception of its own"); });
    each(R"((namespace \w+ = |using (?:namespace )?)(?:::)?std::filesystem)",
         [&](const std::smatch& name) { add(name.position(0), "hides std::filesystem behind another name"); });
    return found;
}

}  // namespace sluice
