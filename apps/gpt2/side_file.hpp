#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace sluice::gpt2 {

/// A small file next to a checkpoint's weights.
struct SideFile {
    std::string text;
    std::string where;  ///< For messages.
};

/// Parts of messages about such files.
struct SideFileErrors {
    std::string_view id;
    std::string_view hint;
};

/// Throws Error (bad_data).
[[noreturn]] void refuse_side_file(const SideFileErrors& errors, const std::string& where, std::string what);

/// Of 1 to `most` bytes: parsed, JSON takes up to 40 times its size. Throws Error: no_input, bad_data.
[[nodiscard]] SideFile read_side_file(const std::filesystem::path& path, const SideFileErrors& errors,
                                      std::uint64_t most);

/// Nested at most 16 deep; no object has a key twice. Throws Error: bad_data.
[[nodiscard]] nlohmann::json parse_json(const SideFile& file, const SideFileErrors& errors);

}  // namespace sluice::gpt2
