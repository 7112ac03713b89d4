#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.hpp"
#include "slurm/batch_script.hpp"

namespace sluice {

/// A job in /data with `lines` after its smallest form.
inline JobConfig slurm_job(const std::string& lines = {}, const std::vector<Override>& overrides = {}) {
    static constexpr std::array<AppKeys, 1> apps{{{.app = "classifier", .keys = {}}}};
    const std::string smallest =
        "app = \"classifier\"\n"
        "input.path = \"articles.txt\"\n"
        "model.random = 17\n"
        "output.path = \"labels.csv\"\n";
    return parse_job(smallest + lines, "job.toml", "/data", overrides, apps);
}

inline const ScriptPaths some_paths{{.run_folder = "/data/labels.csv.sluice"}, "/opt/sluice"};

/// The script's lines for sbatch, without "#SBATCH ", and everything else.
struct SplitScript {
    std::vector<std::string> options{};
    std::string body{};
};

inline SplitScript split(std::string_view script) {
    static constexpr std::string_view mark = "#SBATCH ";
    SplitScript parts;
    while (!script.empty()) {
        const std::string_view line = script.substr(0, script.find('\n') + 1);
        script.remove_prefix(line.size());
        if (line.starts_with(mark)) {
            parts.options.emplace_back(line.substr(mark.size(), line.size() - mark.size() - 1));
        } else {
            parts.body += line;
        }
    }
    return parts;
}

}  // namespace sluice
