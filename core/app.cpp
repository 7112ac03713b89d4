#include "core/app.hpp"

#include <algorithm>

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

std::unique_ptr<LoadedApp> load_alone(const OpenApp& app, const WeightBlob& weights, Precision precision,
                                      DeviceKind kind, std::uint32_t threads) {
    std::unique_ptr<LoadedApp> loaded = app.load(weights, precision, kind);
    if (PackedWeights* const packed = loaded->weights(); packed != nullptr) {
        packed->pack(NodeMemory::of_process(packed->bytes()), {}, threads);
    }
    return loaded;
}

}  // namespace sluice
