#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/modes.hpp"
#include "tools/doctor/facts.hpp"

namespace sluice {

enum class Severity : std::uint8_t { ok, warning, error };
template <>
inline constexpr std::array<std::string_view, 3> words_of<Severity>{"ok", "warning", "error"};

/// One line of a diagnosis. Texts are escaped.
struct Finding {
    Severity severity = Severity::ok;
    ExitCode code = ExitCode::ok;  ///< Of an error.
    std::string id{};              ///< As in docs/errors.md; empty if ok.
    std::string_view topic{};      ///< "launch", "cores".
    std::string what{};            ///< With its evidence.
    std::string remedy{};          ///< The line that fixes it; empty if unnecessary or impossible.
};

/// Findings by topic: errors, warnings, and a line for each topic without either. Pure. docs/doctor.md lists all
/// findings.
[[nodiscard]] std::vector<Finding> diagnose(const DoctorFacts& facts);

/// Code of the first error; ok if there is none.
[[nodiscard]] ExitCode code_of(std::span<const Finding> findings);

}  // namespace sluice
