#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// "23.02": the two numbers that identify a release's features.
struct SlurmVersion {
    int year = 0;
    int month = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm of clang-tidy 14
    friend auto operator<=>(const SlurmVersion&, const SlurmVersion&) = default;

    [[nodiscard]] std::string text() const;
};

/// Parses the output of `srun --version`: "slurm 23.11.4", "slurm-wlm 22.05.8". nullopt: anything else.
[[nodiscard]] std::optional<SlurmVersion> parse_slurm_version(std::string_view text);

/// Version of the srun in PATH; nullopt: none, or unknown.
[[nodiscard]] std::optional<SlurmVersion> read_slurm_version();

}  // namespace sluice
