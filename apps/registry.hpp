#pragma once

#include <span>
#include <string_view>

#include "core/app.hpp"

namespace sluice {

/// Every app there is. An explicit table: apps that register themselves vanish from static libraries.
[[nodiscard]] std::span<const App* const> all_apps();

/// Null when there is none of that name.
[[nodiscard]] const App* find_app(std::string_view name);

}  // namespace sluice
