#include "apps/registry.hpp"

#include <algorithm>
#include <array>

#include "apps/classifier/classifier_app.hpp"

namespace sluice {

std::span<const App* const> all_apps() {
    static const std::array<const App*, 1> apps{&classifier_app()};
    return apps;
}

const App* find_app(std::string_view name) {
    const auto apps = all_apps();
    const auto found = std::find_if(apps.begin(), apps.end(), [&](const App* app) { return app->name() == name; });
    return found == apps.end() ? nullptr : *found;
}

}  // namespace sluice
