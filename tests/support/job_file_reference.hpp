#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "core/settings.hpp"

namespace sluice {

/// docs/job-file.md, which says of each key what it takes and its default.
class JobFileReference {
public:
    explicit JobFileReference(const std::string& source_folder) {
        std::stringstream text;
        text << std::ifstream(source_folder + "/docs/job-file.md").rdbuf();
        text_ = text.str();
    }

    /// What stands there about a key, its heading included; empty: nothing.
    [[nodiscard]] std::string entry_of(const KeySpec& key) const {
        const std::size_t begin = text_.find("### `" + key.full_name() + "`");
        return begin == std::string::npos ? std::string()
                                          : text_.substr(begin, text_.find("\n#", begin + 1) + 1 - begin);
    }

    /// What is wrong with that; empty: nothing.
    [[nodiscard]] std::string problem_with(const KeySpec& key) const {
        const std::string entry = entry_of(key);
        for (const std::string& line :
             {"- takes: " + key.expected() + "\n", "- default: " + std::string(key.default_text()) + "\n"}) {
            if (entry.find(line) == std::string::npos) {
                return "the entry of " + key.full_name() + " lacks " + line;
            }
        }
        return {};
    }

private:
    std::string text_;
};

}  // namespace sluice
