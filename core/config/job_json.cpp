#include "core/config/job_json.hpp"

#include <toml++/toml.h>

#include <sstream>

namespace sluice {

std::string to_json_text(const JobConfig& job) {
    std::ostringstream text;
    text << toml::json_formatter(toml::parse(to_toml(job)));
    return text.str();
}

}  // namespace sluice
