#include "apps/gpt2/side_file.hpp"

#include <fmt/format.h>

#include <span>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/input/lfs_pointer.hpp"
#include "core/weights/weights_file.hpp"

namespace sluice::gpt2 {
namespace {

constexpr int deepest_json = 16;

[[noreturn]] void refuse_from(std::size_t byte, const SideFile& file, const SideFileErrors& errors) {
    refuse_side_file(errors, file.where, fmt::format("no JSON from byte {} on", byte));
}

/// Before it is parsed: a callback that the parser asks would take it quadratic time for a list of objects.
bool is_shallow(std::string_view json) {
    int depth = 0;
    bool in_string = false;
    for (std::size_t at = 0; at < json.size() && depth <= deepest_json; ++at) {
        const char c = json[at];
        if (in_string) {
            in_string = c != '"';
            at += c == '\\' ? 1 : 0;
        } else if (c == '[' || c == '{') {
            ++depth;
        } else if (c == ']' || c == '}') {
            --depth;
        } else {
            in_string = c == '"';
        }
    }
    return depth <= deepest_json;
}

}  // namespace

void refuse_side_file(const SideFileErrors& errors, const std::string& where, std::string what) {
    throw Error(
        ExitCode::bad_data,
        {.id = std::string(errors.id), .where = where, .what = std::move(what), .hint = std::string(errors.hint)});
}

SideFile read_side_file(const std::filesystem::path& path, const SideFileErrors& errors, std::uint64_t most) {
    const WeightsFile file(path);
    if (file.size() > most) {
        refuse_side_file(errors, file.where(), fmt::format("got {} bytes, expected at most {}", file.size(), most));
    }
    if (file.size() == 0) {
        refuse_side_file(errors, file.where(), "is empty");
    }
    std::string text(static_cast<std::size_t>(file.size()), '\0');
    file.read(0, std::as_writable_bytes(std::span(text)));
    file.check_unchanged();
    if (is_lfs_pointer(text)) {
        refuse_side_file({errors.id, "run git lfs pull"}, file.where(), "this is a Git LFS pointer, not the file");
    }
    return {std::move(text), file.where()};
}

nlohmann::json parse_json(const SideFile& file, const SideFileErrors& errors) {
    if (!is_shallow(file.text)) {
        refuse_side_file(errors, file.where, fmt::format("JSON that is nested deeper than {}", deepest_json));
    }
    if (const std::size_t zero = file.text.find('\0'); zero != std::string::npos) {  // the parser would end there
        refuse_from(zero + 1, file, errors);
    }
    try {
        return nlohmann::json::parse(file.text);
    } catch (const nlohmann::json::parse_error& error) {
        refuse_from(error.byte, file, errors);
    } catch (const nlohmann::json::out_of_range&) {
        refuse_side_file(errors, file.where, "has a number that is too large");
    }
}

}  // namespace sluice::gpt2
