#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// "23.02": the two numbers that say what a release understands.
struct SlurmVersion {
    int year = 0;
    int month = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm of clang-tidy 14
    friend auto operator<=>(const SlurmVersion&, const SlurmVersion&) = default;

    [[nodiscard]] std::string text() const;
};

/// From what `srun --version` prints: "slurm 23.11.4", "slurm-wlm 22.05.8". nullopt: something else.
[[nodiscard]] std::optional<SlurmVersion> parse_slurm_version(std::string_view text);

/// Of the srun in PATH; nullopt: there is none, or it does not say.
[[nodiscard]] std::optional<SlurmVersion> read_slurm_version();

}  // namespace sluice
