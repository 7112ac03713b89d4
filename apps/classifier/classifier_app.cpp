#include "apps/classifier/classifier_app.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <utility>

#include "apps/classifier/alphabet.hpp"
#include "apps/classifier/classifier_codec.hpp"
#include "apps/classifier/classifier_weights.hpp"
#include "apps/sequential_model.hpp"
#include "core/error.hpp"
#include "kernels/kernels.hpp"

namespace sluice {
namespace {

// Items whose convolutions run together. gamma and beta of the first norm (2 MB) are read once a group; the activations
// of more items would leave a core's cache.
constexpr std::uint32_t convolution_group = 8;
constexpr std::uint32_t whole_chunk = ~std::uint32_t{0};  // linear layers read their weights once a chunk

constexpr std::uint32_t filters = 256;
constexpr std::uint32_t features = 1024;
constexpr std::uint32_t pool = 3;
constexpr SymbolConvShape conv1{
    .length = classifier_length, .symbols = classifier_symbols, .taps = 7, .channels = filters, .pool = pool};
constexpr Conv1dShape conv2{.length = conv1.positions() / pool,
                            .in_channels = filters,
                            .out_channels = filters,
                            .taps = 7,
                            .relu = true,
                            .pool = pool};
constexpr Conv1dShape next(const Conv1dShape& before, bool relu) {
    return {.length = before.positions() / before.pool,
            .in_channels = filters,
            .out_channels = filters,
            .taps = 3,
            .relu = relu,
            .pool = 1};
}
constexpr Conv1dShape conv3 = next(conv2, true);
constexpr Conv1dShape conv4 = next(conv3, true);
constexpr Conv1dShape conv5 = next(conv4, true);
constexpr Conv1dShape conv6 = next(conv5, false);
constexpr NormShape norm6{.positions = conv6.positions(), .channels = filters, .pool = pool};
constexpr std::uint32_t last_positions = norm6.positions / pool;
constexpr LinearShape fc1{.inputs = last_positions * filters, .outputs = features, .relu = true};
constexpr LinearShape fc2{.inputs = features, .outputs = features, .relu = true};
constexpr LinearShape fc3{.inputs = features, .outputs = classifier_classes, .relu = false};
static_assert(conv1.positions() == 1008 && conv2.positions() == 330 && conv6.positions() == 102 &&
              last_positions == 34);

constexpr double flop(const Conv1dShape& shape) {
    return 2.0 * shape.positions() * shape.out_channels * shape.in_channels * shape.taps;
}
constexpr double flop(const LinearShape& shape) {
    return 2.0 * shape.inputs * shape.outputs;
}

/// (out, channel * positions + position), which is how the flattened features are numbered in the weights, to
/// (out, position * channels + channel), which is how they lie in memory.
std::vector<float> channels_last(std::span<const float> weights) {
    std::vector<float> result(weights.size());
    for (std::size_t out = 0; out < fc1.outputs; ++out) {
        const std::size_t row = out * fc1.inputs;
        for (std::size_t c = 0; c < filters; ++c) {
            for (std::size_t p = 0; p < last_positions; ++p) {
                result[row + p * filters + c] = weights[row + c * last_positions + p];
            }
        }
    }
    return result;
}

using Stages = std::vector<SequentialStage>;

SequentialStage make_convolutions(const Kernels& kernels, std::span<const float> weights) {
    const auto get = [&](std::string_view name) { return classifier_tensor(weights, name); };
    SequentialStage stage{.layers = {}, .group_items = convolution_group};
    stage.layers.push_back(kernels.symbol_conv_norm_relu_pool(conv1, get("w_conv1"), get("b_conv1"), get("gamma_conv1"),
                                                              get("beta_conv1")));
    stage.layers.push_back(kernels.conv1d(conv2, get("w_conv2"), get("b_conv2")));
    stage.layers.push_back(kernels.conv1d(conv3, get("w_conv3"), get("b_conv3")));
    stage.layers.push_back(kernels.conv1d(conv4, get("w_conv4"), get("b_conv4")));
    stage.layers.push_back(kernels.conv1d(conv5, get("w_conv5"), get("b_conv5")));
    stage.layers.push_back(kernels.conv1d(conv6, get("w_conv6"), get("b_conv6")));
    stage.layers.push_back(kernels.norm_relu_pool(norm6, get("gamma_conv6"), get("beta_conv6")));
    return stage;
}

SequentialStage make_linear_layers(const Kernels& kernels, std::span<const float> weights, const AppOptions& options) {
    const auto get = [&](std::string_view name) { return classifier_tensor(weights, name); };
    SequentialStage stage{.layers = {}, .group_items = whole_chunk};
    stage.layers.push_back(kernels.linear(fc1, channels_last(get("w_fc1")), get("b_fc1")));
    stage.layers.push_back(kernels.linear(fc2, get("w_fc2"), get("b_fc2")));
    stage.layers.push_back(kernels.linear(fc3, get("w_fc3"), get("b_fc3")));
    stage.layers.push_back(kernels.argmax({.classes = classifier_classes, .scores = options.scores}));
    return stage;
}

/// Packing takes about as long for one half as for the other, and nothing can start before it: both at once.
Stages make_stages(const Kernels& kernels, std::span<const float> weights, const AppOptions& options) {
    auto linear_layers = std::async(std::launch::async, [&] { return make_linear_layers(kernels, weights, options); });
    Stages stages{make_convolutions(kernels, weights)};
    stages.push_back(linear_layers.get());
    return stages;
}

class LoadedClassifier final : public LoadedApp {
public:
    LoadedClassifier(WeightBlob blob, const AppOptions& options) : options_(options), blob_(std::move(blob)) {
        expects(blob_.bytes.size() == classifier_weight_count() * sizeof(float),
                "classifier: a weight blob of the wrong size");
    }

    std::unique_ptr<Model> make_model(Device& device, std::uint32_t max_items) const override {
        const Kernels& kernels = kernels_of(device);
        const std::scoped_lock lock(mutex_);
        auto found = stages_.find(&kernels);
        if (found == stages_.end()) {
            found = stages_.emplace(&kernels, make_stages(kernels, weights(), options_)).first;
        }
        return std::make_unique<SequentialModel>(device, found->second, max_items);
    }

    /// Two buffers between the layers of each stage, and the features between the stages.
    std::uint64_t work_bytes(std::uint32_t max_items) const override {
        constexpr std::uint64_t largest_activation =
            std::uint64_t{conv1.positions() / pool} * conv1.channels * sizeof(float);
        constexpr std::uint64_t convolved = std::uint64_t{fc1.inputs} * sizeof(float);
        constexpr std::uint64_t between_linear = std::uint64_t{features} * sizeof(float);
        return 2 * largest_activation * std::min(convolution_group, max_items) +
               (convolved + 2 * between_linear) * max_items;
    }

private:
    [[nodiscard]] std::span<const float> weights() const noexcept {
        return {reinterpret_cast<const float*>(blob_.bytes.data()), classifier_weight_count()};
    }

    AppOptions options_;
    WeightBlob blob_;
    mutable std::mutex mutex_;
    mutable std::map<const Kernels*, Stages> stages_;  // packed once for all devices of a backend
};

class ClassifierApp final : public App {
public:
    std::string_view name() const noexcept override { return "classifier"; }
    std::string_view summary() const noexcept override {
        return "character-level CNN: text of up to 1014 characters to one of 4 classes";
    }
    std::unique_ptr<ItemCodec> make_codec(const AppOptions& options) const override {
        return std::make_unique<ClassifierCodec>(options);
    }
    WeightBlob read_weights(const std::string& path) const override {
        return make_blob([&](std::span<float> to) { read_tensors(path, classifier_tensors(), to); });
    }
    WeightBlob random_weights(std::uint64_t seed) const override {
        return make_blob([&](std::span<float> to) { random_classifier_weights(seed, to); });
    }
    std::unique_ptr<LoadedApp> load(WeightBlob weights, const AppOptions& options) const override {
        return std::make_unique<LoadedClassifier>(std::move(weights), options);
    }
    /// 487.9 MFLOP: convolution 1 is a table and counts nothing.
    double flop_per_item() const noexcept override {
        return flop(conv2) + flop(conv3) + flop(conv4) + flop(conv5) + flop(conv6) + flop(fc1) + flop(fc2) + flop(fc3);
    }

private:
    template <class Fill>
    static WeightBlob make_blob(Fill&& fill) {
        WeightBlob blob;
        blob.bytes.resize(classifier_weight_count() * sizeof(float));
        fill(std::span(reinterpret_cast<float*>(blob.bytes.data()), classifier_weight_count()));
        return blob;
    }
};

}  // namespace

const App& classifier_app() {
    static const ClassifierApp app;
    return app;
}

}  // namespace sluice
