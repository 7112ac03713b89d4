#include "tools/doctor/slurm_version.hpp"

#include <fmt/format.h>

#include <charconv>

#include "core/error.hpp"
#include "slurm/child.hpp"

namespace sluice {

std::string SlurmVersion::text() const {
    return fmt::format("{:02}.{:02}", year, month);
}

std::optional<SlurmVersion> parse_slurm_version(std::string_view text) {
    constexpr std::string_view name = "slurm";
    if (!text.starts_with(name) || text.find(' ') == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(text.find(' ') + 1);
    const char* const end = text.data() + text.size();
    SlurmVersion version;
    const auto [dot, bad_year] = std::from_chars(text.data(), end, version.year);
    if (bad_year != std::errc() || dot == end || *dot != '.') {
        return std::nullopt;
    }
    const auto [rest, bad_month] = std::from_chars(dot + 1, end, version.month);
    return bad_month == std::errc() ? std::optional(version) : std::nullopt;
}

std::optional<SlurmVersion> read_slurm_version() {
    constexpr std::chrono::seconds patience{1};  // some sruns ask a controller, which may not answer
    try {
        const std::optional<ChildResult> result = run_child({"srun", "--version"}, patience);
        return result ? parse_slurm_version(result->out) : std::nullopt;
    } catch (const Error&) {  // there is no srun
        return std::nullopt;
    }
}

}  // namespace sluice
