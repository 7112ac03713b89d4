#pragma once

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.hpp"
#include "core/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {

// Apps with keys of their own: of every type, and of the same name.

inline constexpr std::array classifier_keys{
    KeySpec{.section = "output", .name = "scores", .type = KeyType::boolean, .fallback = "false", .help = "Scores."}};

inline constexpr std::array<std::string_view, 2> modes{"sample", "beam"};

inline constexpr KeySpec temperature{.section = "generate",
                                     .name = "temperature",
                                     .type = KeyType::real,
                                     .lowest = 0,
                                     .highest = 2,
                                     .fallback = "0.8",
                                     .help = "How bold."};

inline constexpr std::array namegen_keys{
    KeySpec{.section = "generate", .name = "greedy", .type = KeyType::boolean, .fallback = "false", .help = "Greedy."},
    KeySpec{.section = "generate",
            .name = "seed",
            .type = KeyType::integer,
            .most = 9'223'372'036'854'775'807,
            .fallback = "17",
            .help = "Where chance begins."},
    temperature,
    KeySpec{.section = "generate", .name = "mode", .choices = modes, .fallback = "\"sample\"", .help = "How."},
    KeySpec{.section = "generate",
            .name = "limit",
            .type = KeyType::integer,
            .least = 1,
            .most = 99,
            .word = "auto",
            .fallback = "\"auto\"",
            .help = "How long."},
    KeySpec{.section = "generate", .name = "stop", .type = KeyType::words, .fallback = "[]", .help = "Where to end."},
    KeySpec{.section = "generate",
            .name = "pause",
            .type = KeyType::duration,
            .fallback = "\"0s\"",
            .help = "How long to wait."},
    KeySpec{.section = "generate", .name = "prefixes", .type = KeyType::path, .help = "What names begin with."}};

inline constexpr std::array gpt2_keys{temperature, KeySpec{.section = "generate.text",
                                                           .name = "tokens",
                                                           .type = KeyType::integer,
                                                           .least = 1,
                                                           .most = 1024,
                                                           .fallback = "64",
                                                           .help = "How many."}};

inline constexpr std::array<AppKeys, 3> apps{{{.app = "classifier", .keys = classifier_keys},
                                              {.app = "namegen", .keys = namegen_keys},
                                              {.app = "gpt2", .keys = gpt2_keys}}};

inline const std::string smallest_job =
    "app = \"classifier\"\n"                   // line 1
    "input.path = \"articles.txt\"\n"          // line 2
    "model.weights = \"model.safetensors\"\n"  // line 3
    "output.path = \"labels.csv\"\n";          // line 4

using Paths = std::vector<std::filesystem::path>;

inline JobConfig parse(const std::string& text, const std::vector<Override>& overrides = {},
                       const std::filesystem::path& base = {}) {
    return parse_job(text, "job.toml", base, overrides, apps);
}

inline Override set(const char* text) {
    return parse_override(text);
}

inline Error refusal(const std::string& text, const std::vector<Override>& overrides = {}) {
    return test::error_of([&] { return parse(text, overrides); });
}

inline std::string repeated(const char* part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) {
        text += part;
    }
    return text;
}

class Folder : public TemporaryFolder {
public:
    [[nodiscard]] std::filesystem::path write(const char* name, const std::string& bytes) const {
        std::ofstream(path() / name, std::ios::binary) << bytes;
        return path() / name;
    }
};

}  // namespace sluice
