#include "core/app.hpp"

namespace sluice {

std::unique_ptr<LoadedApp> load_alone(const App& app, const WeightBlob& weights, const AppOptions& options,
                                      DeviceKind kind, std::uint32_t threads) {
    std::unique_ptr<LoadedApp> loaded = app.load(weights, options, kind);
    if (PackedWeights* const packed = loaded->weights(); packed != nullptr) {
        packed->pack(NodeMemory::of_process(packed->bytes()), {}, threads);
    }
    return loaded;
}

}  // namespace sluice
