#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "apps/sequential_model.hpp"
#include "core/weights/tensor_file.hpp"
#include "kernels/kernels.hpp"
#include "tools/cli/main.hpp"

namespace sluice::minimal {
namespace {

constexpr std::uint32_t inputs = 8;
constexpr std::uint32_t classes = 3;
constexpr std::size_t weight_count = classes * inputs + classes;  // (classes, inputs), then (classes)

class MinimalCodec final : public ItemCodec {
public:
    IoShape shape() const noexcept override { return {inputs * sizeof(float), sizeof(std::int32_t)}; }
    void encode(std::uint64_t, std::string_view text, std::span<std::byte> to) const override {
        std::array<float, inputs> values{};
        const std::string_view kept = text.substr(0, inputs);
        std::transform(kept.begin(), kept.end(), values.begin(), [](char c) { return static_cast<float>(c & 15); });
        std::memcpy(to.data(), values.data(), to.size());
    }
    std::optional<std::size_t> longest_text() const noexcept override { return inputs; }
    std::vector<OutputField> output_fields() const override {
        return {{.name = "label", .type = FieldType::int32, .count = 1}};
    }
};

std::vector<SequentialStage> make_stages(const Kernels& kernels, std::span<const float> weights,
                                         PackedWeights& packed) {
    std::vector<SequentialStage> stages(1);
    stages[0].group_items = whole_chunk;
    stages[0].layers.push_back(kernels.dense.classify({.inputs = inputs, .classes = classes},
                                                      weights.first(classes * inputs), weights.last(classes), packed));
    return stages;
}

class OpenMinimal final : public OpenApp {
public:
    IoShape shape() const noexcept override { return MinimalCodec().shape(); }
    double flop_per_item(const WeightBlob&) const noexcept override { return 2.0 * inputs * classes; }
    std::unique_ptr<ItemCodec> make_codec() const override { return std::make_unique<MinimalCodec>(); }
    WeightBlob read_weights(const std::filesystem::path& path) const override {
        static const std::array<TensorSpec, 2> tensors{{{"weight", {classes, inputs}}, {"bias", {classes}}}};
        WeightBlob blob = WeightBlob::of_floats(weight_count);
        read_tensors(path, tensors, blob.floats());
        return blob;
    }
    WeightBlob random_weights(std::uint64_t seed) const override {
        std::mt19937_64 random(seed);
        WeightBlob blob = WeightBlob::of_floats(weight_count);
        std::ranges::generate(blob.floats(), [&] { return static_cast<float>(random() % 2000) / 1000.0F - 1.0F; });
        return blob;
    }
    std::unique_ptr<LoadedApp> load(const WeightBlob& weights, Precision, DeviceKind kind) const override {
        return std::make_unique<LoadedSequential>(
            [&](PackedWeights& packed) { return make_stages(kernels_of(kind), weights.floats(), packed); });
    }
};

class MinimalApp final : public App {
public:
    std::string_view name() const noexcept override { return "minimal"; }
    std::string_view summary() const noexcept override { return "8 numbers to one of 3 classes"; }
    std::unique_ptr<OpenApp> open(const AppSettings&) const override { return std::make_unique<OpenMinimal>(); }
};

}  // namespace
}  // namespace sluice::minimal

int main(int argc, char** argv) {
    const sluice::minimal::MinimalApp app;
    return sluice::main(argc, argv, sluice::Apps({&app}));
}
