#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A line of a source that includes something.
struct Include {
    std::string file{};    ///< Who includes, from the project's root: "core/event.cpp".
    std::size_t line = 0;  ///< From 1.
    std::string target{};  ///< "core/clock.hpp" or "mpi.h".
    bool outside = false;  ///< <target>, not "target".
};

/// The includes of the source `text` of `file`, in order; commented-out ones are none.
[[nodiscard]] std::vector<Include> includes_of(const std::string& file, std::string_view text);

/// What is wrong with `include`, as "core/event.cpp:7: …", or an empty string. `exists` says whether the project has a
/// file of that path.
[[nodiscard]] std::string violation_of(const Include& include, const std::function<bool(const std::string&)>& exists);

/// Every source of the project, from its root.
[[nodiscard]] std::vector<std::string> sources_under(const std::filesystem::path& root);

/// The whole file. Throws std::runtime_error.
[[nodiscard]] std::string text_of(const std::filesystem::path& file);

}  // namespace sluice
