#pragma once

#include <string_view>

namespace sluice {

/// How this program was built.
struct ProgramFacts {
    std::string_view version{};   ///< "0.1.0"
    std::string_view commit{};    ///< "1a2b3c4d5e6f-dirty", "unknown: built outside of a git repository"
    std::string_view compiler{};  ///< "GNU 12.2.0"
    std::string_view build{};     ///< CMake's build type; may be empty.
    std::string_view cuda{};      ///< The toolkit's version; "none: built without".
};
[[nodiscard]] const ProgramFacts& program_facts() noexcept;

}  // namespace sluice
