#include "apps/namegen/namegen_app.hpp"

#include <algorithm>

#include "apps/namegen/namegen_codec.hpp"
#include "apps/namegen/namegen_model.hpp"
#include "apps/namegen/namegen_options.hpp"
#include "apps/namegen/namegen_weights.hpp"
#include "core/error.hpp"
#include "kernels/generator.hpp"
#include "kernels/kernels.hpp"

namespace sluice::namegen {
namespace {

class LoadedNamegen final : public LoadedApp {
public:
    LoadedNamegen(const WeightBlob& blob, const Sampling& sampling, Precision precision, DeviceKind kind)
        : max_length_(sampling.max_length),
          layer_(generator_kernels_of(kind, precision)
                     .gru(shape_of_namegen(blob), namegen_weights(blob), sampling, weights_)) {}

    PackedWeights* weights() override { return &weights_; }
    std::unique_ptr<Model> make_model(Device& device, const ModelRoom& room) const override {
        return make_namegen_model(max_length_, layer_->make_generator(device, room.most_items));
    }
    std::uint64_t least_room(std::uint32_t most_items) const override { return layer_->work_bytes(most_items); }

private:
    std::uint32_t max_length_;
    PackedWeights weights_;
    std::unique_ptr<GeneratorLayer> layer_;
};

class OpenNamegen final : public OpenApp {
public:
    explicit OpenNamegen(const NamegenOptions& options) : options_(options) {}

    IoShape shape() const noexcept override { return generator_io(options_.sampling.max_length); }

    /// Every step reads all weights, however few names there are.
    std::uint32_t least_chunk() const noexcept override { return 64; }

    bool is_batch_invariant(Precision) const noexcept override { return true; }

    /// Of a name of full length. The first step, which all names share, and the first layer's input, which is a table,
    /// count nothing.
    double flop_per_item(const WeightBlob& weights) const noexcept override {
        const GruShape shape = shape_of_namegen(weights);
        const double hidden = shape.hidden;
        const double products = (2.0 * shape.layers - 1) * 3 * hidden * hidden + gru_symbols * hidden;
        return 2 * products * std::max(1U, options_.sampling.max_length - 1);
    }

    ProductWork product_work(Precision precision) const noexcept override { return product_work_of_texts(precision); }

    std::unique_ptr<ItemCodec> make_codec() const override { return std::make_unique<NamegenCodec>(options_); }
    WeightBlob read_weights(const std::filesystem::path& path) const override { return read_namegen_weights(path); }
    WeightBlob random_weights(std::uint64_t seed) const override {
        return random_namegen_weights(headerless_namegen, seed);
    }
    std::unique_ptr<LoadedApp> load(const WeightBlob& weights, Precision precision, DeviceKind kind) const override {
        if (precision == Precision::certified) {
            return std::make_unique<LoadedCertifiedNamegen>(shape_of_namegen(weights), namegen_weights(weights),
                                                            options_.sampling, kind);
        }
        return std::make_unique<LoadedNamegen>(weights, options_.sampling, precision, kind);
    }

private:
    NamegenOptions options_;
};

class NamegenApp final : public App {
public:
    std::string_view name() const noexcept override { return "namegen"; }
    std::string_view summary() const noexcept override {
        return "character-level GRU: makes up names, a byte at a time";
    }
    std::span<const KeySpec> keys() const noexcept override { return namegen_keys(); }
    std::unique_ptr<OpenApp> open(const AppSettings& settings) const override {
        return std::make_unique<OpenNamegen>(read_namegen_options(settings));
    }
};

}  // namespace

const App& namegen_app() {
    static const NamegenApp app;
    return app;
}

}  // namespace sluice::namegen
