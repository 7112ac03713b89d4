#include "apps/classifier/classifier_app.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "apps/certified_model.hpp"
#include "apps/classifier/alphabet.hpp"
#include "apps/classifier/classifier_codec.hpp"
#include "apps/classifier/classifier_weights.hpp"
#include "apps/sequential_model.hpp"
#include "core/error.hpp"
#include "kernels/kernels.hpp"

namespace sluice {
namespace {

/// Items whose convolutions run together. On the host gamma and beta of the first norm (2 MB) are read once a group,
/// and the activations of more items would leave a core's cache; a GPU needs many items to be busy at all.
constexpr std::uint32_t convolution_group(DeviceKind kind) {
    return kind == DeviceKind::host ? 8 : whole_chunk;
}

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
constexpr LinearShape fc1{.inputs = last_positions * filters, .outputs = features, .relu = true, .channels = filters};
constexpr LinearShape fc2{.inputs = features, .outputs = features, .relu = true};
static_assert(conv1.positions() == 1008 && conv2.positions() == 330 && conv6.positions() == 102 &&
              last_positions == 34);

constexpr double flop(const Conv1dShape& shape) {
    return 2.0 * shape.positions() * shape.out_channels * shape.in_channels * shape.taps;
}
constexpr double flop(const LinearShape& shape) {
    return 2.0 * shape.inputs * shape.outputs;
}

using Stages = std::vector<SequentialStage>;

Stages make_stages(DeviceKind kind, std::span<const float> weights, Precision precision, bool scores,
                   PackedWeights& packed) {
    expects(weights.size() == classifier_weight_count(), "classifier: a weight blob of the wrong size");
    const Kernels& kernels = kernels_of(kind, precision);
    const auto get = [&](std::string_view name) { return classifier_tensor(weights, name); };
    const auto conv = [&](const Conv1dShape& shape, std::string_view w, std::string_view b) {
        return kernels.convolution.conv1d(shape, get(w), get(b), packed);
    };
    const auto linear = [&](const LinearShape& shape, std::string_view w, std::string_view b) {
        return kernels.dense.linear(shape, get(w), get(b), packed);
    };
    Stages stages(2);
    SequentialStage& convolutions = stages[0];
    convolutions.group_items = convolution_group(kind);
    convolutions.layers.push_back(kernels.convolution.symbol_conv_norm_relu_pool(
        conv1, get("w_conv1"), get("b_conv1"), get("gamma_conv1"), get("beta_conv1"), packed));
    convolutions.layers.push_back(conv(conv2, "w_conv2", "b_conv2"));
    convolutions.layers.push_back(conv(conv3, "w_conv3", "b_conv3"));
    convolutions.layers.push_back(conv(conv4, "w_conv4", "b_conv4"));
    convolutions.layers.push_back(conv(conv5, "w_conv5", "b_conv5"));
    convolutions.layers.push_back(conv(conv6, "w_conv6", "b_conv6"));
    convolutions.layers.push_back(
        kernels.convolution.norm_relu_pool(norm6, get("gamma_conv6"), get("beta_conv6"), packed));
    SequentialStage& linear_layers = stages[1];
    linear_layers.group_items = whole_chunk;
    linear_layers.layers.push_back(linear(fc1, "w_fc1", "b_fc1"));
    linear_layers.layers.push_back(linear(fc2, "w_fc2", "b_fc2"));
    linear_layers.layers.push_back(kernels.dense.classify(
        {.inputs = features, .classes = classifier_classes, .scores = scores, .marks_nonfinite = true}, get("w_fc3"),
        get("b_fc3"), packed));
    return stages;
}

/// Two buffers between the layers of each stage, and the features between the stages, for `items` items.
std::uint64_t activation_bytes(DeviceKind kind, Precision precision, std::uint64_t items) {
    constexpr std::uint64_t largest_activation = std::uint64_t{conv1.positions() / pool} * conv1.channels;
    constexpr std::uint64_t convolved = fc1.inputs;
    constexpr std::uint64_t between_linear = features;
    constexpr std::uint64_t scores = classifier_classes * sizeof(float);
    const std::uint64_t value_bytes = precision == Precision::bf16 || precision == Precision::fp16 ? 2 : 4;
    const std::uint64_t convolution_bytes = precision == Precision::tf32x3 ? 2 * value_bytes : value_bytes;
    const std::uint64_t group = std::min<std::uint64_t>(convolution_group(kind), items);
    return 2 * largest_activation * group * convolution_bytes +
           ((convolved + 2 * between_linear) * value_bytes + scores) * items;
}

class LoadedClassifier final : public LoadedSequential {
public:
    LoadedClassifier(const WeightBlob& blob, Precision precision, bool scores, DeviceKind kind)
        : LoadedSequential(
              [&](PackedWeights& packed) { return make_stages(kind, blob.floats(), precision, scores, packed); }),
          kind_(kind),
          precision_(precision) {}

    std::uint64_t least_room(std::uint32_t max_items) const override {
        return activation_bytes(kind_, precision_, max_items);
    }

private:
    DeviceKind kind_;
    Precision precision_;
};

/// Items that a GPU computes again at a time: whole rounds of tiles of the convolutions on 132 processors.
constexpr std::uint32_t tf32x3_batch = 226;
/// And of those once more, of which a chunk has few: one round of blocks of the largest fp32 convolution.
constexpr std::uint32_t fp32_batch = 18;

class LoadedCertifiedClassifier final : public LoadedCertified {
public:
    LoadedCertifiedClassifier(const WeightBlob& blob, bool scores, DeviceKind kind)
        : LoadedCertified(
              kind,
              {.classes = classifier_classes, .scores = scores, .tf32x3_batch = tf32x3_batch, .fp32_batch = fp32_batch},
              [&](Precision precision, PackedWeights& packed) {
                  return make_stages(kind, blob.floats(), precision, true, packed);
              }),
          kind_(kind) {}

    std::uint64_t least_room(std::uint32_t max_items) const override {
        return activation_bytes(kind_, Precision::fp16, max_items) +
               activation_bytes(kind_, Precision::tf32x3, tf32x3_batch) +
               activation_bytes(kind_, Precision::fp32, fp32_batch);
    }

private:
    DeviceKind kind_;
};

constexpr std::array classifier_keys{KeySpec{.section = "output",
                                             .name = "scores",
                                             .type = KeyType::boolean,
                                             .fallback = "false",
                                             .help = "Write the score of every class beside the label."}};

class OpenClassifier final : public OpenApp {
public:
    explicit OpenClassifier(bool scores) : scores_(scores) {}

    IoShape shape() const noexcept override { return classifier_shape(scores_); }
    /// 487.9 MFLOP: convolution 1 is a table and counts nothing.
    double flop_per_item(const WeightBlob&) const noexcept override {
        return flop(conv2) + flop(conv3) + flop(conv4) + flop(conv5) + flop(conv6) + flop(fc1) + flop(fc2) +
               2.0 * features * classifier_classes;
    }
    std::unique_ptr<ItemCodec> make_codec() const override { return std::make_unique<ClassifierCodec>(scores_); }
    WeightBlob read_weights(const std::string& path) const override {
        WeightBlob blob = WeightBlob::of_floats(classifier_weight_count());
        read_tensors(path, classifier_tensors(), blob.floats());
        return blob;
    }
    WeightBlob random_weights(std::uint64_t seed) const override {
        WeightBlob blob = WeightBlob::of_floats(classifier_weight_count());
        random_classifier_weights(seed, blob.floats());
        return blob;
    }
    std::unique_ptr<LoadedApp> load(const WeightBlob& weights, Precision precision, DeviceKind kind) const override {
        if (precision == Precision::certified) {
            return std::make_unique<LoadedCertifiedClassifier>(weights, scores_, kind);
        }
        return std::make_unique<LoadedClassifier>(weights, precision, scores_, kind);
    }

private:
    bool scores_;
};

class ClassifierApp final : public App {
public:
    std::string_view name() const noexcept override { return "classifier"; }
    std::string_view summary() const noexcept override {
        return "character-level CNN: text of up to 1014 characters to one of 4 classes";
    }
    std::span<const KeySpec> keys() const noexcept override { return classifier_keys; }
    std::unique_ptr<OpenApp> open(const AppSettings& settings) const override {
        return open_classifier(settings.get<bool>("output.scores"));
    }
};

}  // namespace

std::unique_ptr<OpenApp> open_classifier(bool scores) {
    return std::make_unique<OpenClassifier>(scores);
}

const App& classifier_app() {
    static const ClassifierApp app;
    return app;
}

}  // namespace sluice
