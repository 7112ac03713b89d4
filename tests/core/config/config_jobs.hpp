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
#include "tests/support/temporary_folder.hpp"

namespace sluice {

inline constexpr std::array<AppKeys, 3> apps{{{.app = "classifier"}, {.app = "namegen"}, {.app = "gpt2"}}};

inline const std::string smallest_job =
    "app = \"classifier\"\n"                   // line 1
    "input.path = \"articles.txt\"\n"          // line 2
    "model.weights = \"model.safetensors\"\n"  // line 3
    "output.path = \"labels.csv\"\n";          // line 4

inline JobConfig parse(const std::string& text, const std::vector<Override>& overrides = {},
                       const std::filesystem::path& base = {}) {
    return parse_job(text, "job.toml", base, overrides, apps);
}

inline Override set(const char* text) {
    return parse_override(text);
}

struct Refused {
    ExitCode code = ExitCode::ok;
    ErrorText text;
};

template <class Action>
Refused refusal_of(Action action) {
    try {
        (void)action();
    } catch (const Error& error) {
        return {error.code(), error.text()};
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
}

inline Refused refusal(const std::string& text, const std::vector<Override>& overrides = {}) {
    return refusal_of([&] { return parse(text, overrides); });
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
