#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "core/settings.hpp"

namespace sluice {

/// docs/job-file.md, which documents each key with its values and default.
class JobFileReference {
public:
    explicit JobFileReference(const std::string& source_folder) {
        std::stringstream text;
        text << std::ifstream(source_folder + "/docs/job-file.md").rdbuf();
        text_ = text.str();
    }

    /// The entry of a key of `app`, or of every job, with its heading; empty: none.
    [[nodiscard]] std::string entry_of(const KeySpec& key, std::string_view app = {}) const {
        const std::string heading = "### `" + key.full_name() + "`";
        for (std::size_t at = text_.find(heading); at != std::string::npos; at = text_.find(heading, at + 1)) {
            std::string entry = text_.substr(at, text_.find("\n#", at + 1) + 1 - at);
            if (app.empty() || entry.find("- app: " + std::string(app) + "\n") != std::string::npos) {
                return entry;
            }
        }
        return {};
    }

    /// What the entry lacks; empty: nothing.
    [[nodiscard]] std::string problem_with(const KeySpec& key, std::string_view app = {}) const {
        const std::string entry = entry_of(key, app);
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
