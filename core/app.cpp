#include "core/app.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace sluice {

const App* Apps::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(apps_, name, [](const App* app) { return app->name(); });
    return found == apps_.end() ? nullptr : *found;
}

std::vector<AppKeys> Apps::keys() const {
    std::vector<AppKeys> keys;
    for (const App* app : apps_) {
        keys.push_back({.app = app->name(), .keys = app->keys()});
    }
    return keys;
}

void check_shape(std::string_view whose, const IoShape& shape, const IoShape& of_app) {
    const auto described = [](const IoShape& of) {
        return fmt::format("{} bytes in and {} out", of.input_bytes, of.output_bytes);
    };
    if (shape != of_app) {
        throw ContractViolation(fmt::format("the shape of the app's {} is {}, that of its OpenApp {}", whose,
                                            described(shape), described(of_app)));
    }
    if (shape.input_bytes == 0 || shape.output_bytes == 0) {
        throw ContractViolation(
            fmt::format("the shape of the app's {} is {}; neither may be 0", whose, described(shape)));
    }
}

}  // namespace sluice
