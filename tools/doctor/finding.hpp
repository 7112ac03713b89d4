#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace sluice {

enum class Severity : std::uint8_t { ok, warning, error };

/// One line of a diagnosis. Texts are escaped.
struct Finding {
    Severity severity = Severity::ok;
    ExitCode code = ExitCode::ok;  ///< Of an error.
    std::string id{};              ///< As in docs/errors.md; empty if ok.
    std::string_view topic{};      ///< "launch", "cores".
    std::string what{};            ///< With its evidence.
    std::string remedy{};          ///< The line that fixes it; empty if unnecessary or impossible.
};

[[nodiscard]] std::string_view name_of(Severity severity);

/// Code of the first error; ok if there is none.
[[nodiscard]] ExitCode code_of(std::span<const Finding> findings);

}  // namespace sluice
