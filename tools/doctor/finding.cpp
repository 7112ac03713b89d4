#include "tools/doctor/finding.hpp"

#include <algorithm>

namespace sluice {

std::string_view name_of(Severity severity) {
    switch (severity) {
        case Severity::ok:
            return "ok";
        case Severity::warning:
            return "warning";
        case Severity::error:
            break;
    }
    return "error";
}

ExitCode code_of(std::span<const Finding> findings) {
    const auto first =
        std::ranges::find_if(findings, [](const Finding& finding) { return finding.severity == Severity::error; });
    return first == findings.end() ? ExitCode::ok : first->code;
}

}  // namespace sluice
