#include "core/app.hpp"

#include <algorithm>

namespace sluice {

const App* Apps::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(apps_, name, [](const App* app) { return app->name(); });
    return found == apps_.end() ? nullptr : *found;
}

std::vector<std::string_view> Apps::names() const {
    std::vector<std::string_view> names;
    for (const App* app : apps_) {
        names.push_back(app->name());
    }
    return names;
}

std::unique_ptr<LoadedApp> load_alone(const App& app, const WeightBlob& weights, const AppOptions& options,
                                      DeviceKind kind, std::uint32_t threads) {
    std::unique_ptr<LoadedApp> loaded = app.load(weights, options, kind);
    if (PackedWeights* const packed = loaded->weights(); packed != nullptr) {
        packed->pack(NodeMemory::of_process(packed->bytes()), {}, threads);
    }
    return loaded;
}

}  // namespace sluice
