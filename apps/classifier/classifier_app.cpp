#include "apps/classifier/classifier_app.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/certified_model.hpp"
#include "apps/classifier/alphabet.hpp"
#include "apps/classifier/classifier_codec.hpp"
#include "apps/classifier/classifier_network.hpp"
#include "apps/classifier/classifier_weights.hpp"
#include "apps/sequential_model.hpp"
#include "core/error.hpp"
#include "kernels/kernels.hpp"

namespace sluice::classifier {
namespace {

/// Items whose convolutions run together. On the host gamma and beta of the first norm (2 MB) are read once a group,
/// and the activations of more items would leave a core's cache; a GPU needs many items to be busy at all.
constexpr std::uint32_t convolution_group(DeviceKind kind) {
    return kind == DeviceKind::host ? 8 : whole_chunk;
}

constexpr ClassifierSizes paper_sizes;

constexpr ClassifierNetwork paper(paper_sizes);
static_assert(paper.conv1.positions() == 1008 && paper.conv2.positions() == 330 && paper.conv6.positions() == 102 &&
              paper.fc1.inputs == 34 * 256);

constexpr double flop(const Conv1dShape& shape) {
    return 2.0 * shape.positions() * shape.out_channels * shape.in_channels * shape.taps;
}
constexpr double flop(const LinearShape& shape) {
    return 2.0 * shape.inputs * shape.outputs;
}

using Stages = std::vector<SequentialStage>;

/// How many items layers get at a time.
enum class Batches : std::uint8_t { any, one_size };

Stages make_stages(DeviceKind kind, const ClassifierWeights& weights, Precision precision, bool scores, Batches batches,
                   PackedWeights& packed) {
    const ClassifierNetwork network(weights.sizes());
    const Kernels& kernels = kernels_of(kind, precision);
    const auto get = [&](std::string_view name) { return weights.tensor(name); };
    const auto conv = [&](const Conv1dShape& shape, std::string_view w, std::string_view b) {
        return kernels.convolution.conv1d(shape, get(w), get(b), packed);
    };
    const auto linear = [&](LinearShape shape, std::string_view w, std::string_view b) {
        // In batches of one size a library's sums have one order anyway, and its fastest one.
        shape.batch_invariant = batches == Batches::any;
        return kernels.dense.linear(shape, get(w), get(b), packed);
    };
    Stages stages(2);
    SequentialStage& convolutions = stages[0];
    convolutions.group_items = convolution_group(kind);
    convolutions.layers.push_back(kernels.convolution.symbol_conv_norm_relu_pool(
        network.conv1, get("w_conv1"), get("b_conv1"), get("gamma_conv1"), get("beta_conv1"), packed));
    convolutions.layers.push_back(conv(network.conv2, "w_conv2", "b_conv2"));
    convolutions.layers.push_back(conv(network.conv3, "w_conv3", "b_conv3"));
    convolutions.layers.push_back(conv(network.conv4, "w_conv4", "b_conv4"));
    convolutions.layers.push_back(conv(network.conv5, "w_conv5", "b_conv5"));
    convolutions.layers.push_back(conv(network.conv6, "w_conv6", "b_conv6"));
    convolutions.layers.push_back(
        kernels.convolution.norm_relu_pool(network.norm6, get("gamma_conv6"), get("beta_conv6"), packed));
    SequentialStage& linear_layers = stages[1];
    linear_layers.group_items = whole_chunk;
    linear_layers.layers.push_back(linear(network.fc1, "w_fc1", "b_fc1"));
    linear_layers.layers.push_back(linear(network.fc2, "w_fc2", "b_fc2"));
    linear_layers.layers.push_back(kernels.dense.classify(
        {.inputs = network.fc2.outputs, .classes = classifier_classes, .scores = scores, .marks_nonfinite = true},
        get("w_fc3"), get("b_fc3"), packed));
    return stages;
}

/// As activations lie in memory: GPUs fill channels up.
ClassifierNetwork in_memory(DeviceKind kind, ClassifierSizes sizes) {
    sizes.channels = kind == DeviceKind::cuda ? paper_sizes.channels : sizes.channels;
    return ClassifierNetwork(sizes);
}

/// Two buffers between the layers of each stage, and the features between the stages, for `items` items.
std::uint64_t activation_bytes(const ClassifierNetwork& network, DeviceKind kind, Precision precision,
                               std::uint64_t items) {
    const std::uint64_t largest_activation = std::uint64_t{network.conv2.length} * network.conv1.channels;
    const std::uint64_t convolved = network.fc1.inputs;
    const std::uint64_t between_linear = network.fc2.outputs;
    constexpr std::uint64_t scores = classifier_classes * sizeof(float);
    const bool halves = precision == Precision::bf16 || precision == Precision::fp16;
    const std::uint64_t value_bytes = halves && kind == DeviceKind::cuda ? 2 : 4;
    const std::uint64_t convolution_bytes = precision == Precision::tf32x3 ? 2 * value_bytes : value_bytes;
    const std::uint64_t group = std::min<std::uint64_t>(convolution_group(kind), items);
    return 2 * largest_activation * group * convolution_bytes +
           ((convolved + 2 * between_linear) * value_bytes + scores) * items;
}

class LoadedClassifier final : public LoadedSequential {
public:
    LoadedClassifier(const WeightBlob& blob, Precision precision, bool scores, DeviceKind kind)
        : LoadedSequential([&](PackedWeights& packed) {
              return make_stages(kind, ClassifierWeights(blob), precision, scores, Batches::any, packed);
          }),
          network_(in_memory(kind, ClassifierWeights(blob).sizes())),
          kind_(kind),
          precision_(precision) {}

    std::uint64_t least_room(std::uint32_t most_items) const override {
        return activation_bytes(network_, kind_, precision_, most_items);
    }

private:
    ClassifierNetwork network_;
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
                  return make_stages(kind, ClassifierWeights(blob), precision, true, Batches::one_size, packed);
              }),
          network_(in_memory(kind, ClassifierWeights(blob).sizes())),
          kind_(kind) {}

    std::uint64_t least_room(std::uint32_t most_items) const override {
        return activation_bytes(network_, kind_, Precision::fp16, most_items) +
               activation_bytes(network_, kind_, Precision::tf32x3, tf32x3_batch) +
               activation_bytes(network_, kind_, Precision::fp32, fp32_batch);
    }

private:
    ClassifierNetwork network_;
    DeviceKind kind_;
};

constexpr std::array classifier_keys{
    KeySpec{.section = "output",
            .name = "scores",
            .type = KeyType::boolean,
            .fallback = "false",
            .help = "Write the score of every class beside the label."},
    KeySpec{.section = "output",
            .name = "names",
            .type = KeyType::boolean,
            .fallback = "false",
            .help = "Write the label's name, from the weights' metadata, beside the label."}};

/// On a GPU the norm of an item has to fit into a block's registers, and rows of 16 bytes are copied.
void check_sizes(const ClassifierSizes& sizes, DeviceKind kind) {
    constexpr std::uint32_t most_channels = paper_sizes.channels;
    constexpr std::uint32_t hidden_multiple = 8;
    if (kind == DeviceKind::cuda && (sizes.channels > most_channels || sizes.hidden % hidden_multiple != 0)) {
        throw Error(
            ExitCode::configuration,
            {.id = "E-CFG-109",
             .where = "model.weights",
             .what = fmt::format("got {} channels and {} hidden units, but GPUs compute up to {}, and multiples "
                                 "of {}",
                                 sizes.channels, sizes.hidden, most_channels, hidden_multiple),
             .hint = "set run.device = \"host\""});
    }
}

class OpenClassifier final : public OpenApp {
public:
    explicit OpenClassifier(const ClassifierOutput& output) : output_(output) {}

    IoShape shape() const noexcept override { return classifier_shape(output_.scores); }

    bool is_batch_invariant(Precision) const noexcept override { return true; }

    /// 487.9 MFLOP with the paper's sizes: convolution 1 is a table and counts nothing.
    double flop_per_item(const WeightBlob& weights) const noexcept override {
        const ClassifierNetwork n(ClassifierWeights(weights).sizes());
        return flop(n.conv2) + flop(n.conv3) + flop(n.conv4) + flop(n.conv5) + flop(n.conv6) + flop(n.fc1) +
               flop(n.fc2) + 2.0 * n.fc2.outputs * classifier_classes;
    }
    std::unique_ptr<ItemCodec> make_codec() const override {
        if (!output_.names) {
            return std::make_unique<ClassifierCodec>(output_.scores);
        }
        if (!output_.weights) {
            throw Error(ExitCode::configuration, {.id = "E-CFG-110",
                                                  .where = "output.names",
                                                  .what = "random weights do not name their classes",
                                                  .hint = "set model.weights, or leave output.names out"});
        }
        return std::make_unique<ClassifierCodec>(output_.scores, read_class_names(*output_.weights));
    }
    WeightBlob read_weights(const std::filesystem::path& path) const override { return read_classifier_weights(path); }
    WeightBlob random_weights(std::uint64_t seed) const override { return random_classifier_weights(seed); }
    std::unique_ptr<LoadedApp> load(const WeightBlob& weights, Precision precision, DeviceKind kind) const override {
        check_sizes(ClassifierWeights(weights).sizes(), kind);
        if (precision == Precision::certified) {
            return std::make_unique<LoadedCertifiedClassifier>(weights, output_.scores, kind);
        }
        return std::make_unique<LoadedClassifier>(weights, precision, output_.scores, kind);
    }

private:
    ClassifierOutput output_;
};

class ClassifierApp final : public App {
public:
    std::string_view name() const noexcept override { return "classifier"; }
    std::string_view summary() const noexcept override {
        return "character-level CNN: text of up to 1014 characters to one of 4 classes";
    }
    std::span<const KeySpec> keys() const noexcept override { return classifier_keys; }
    std::unique_ptr<OpenApp> open(const AppSettings& settings) const override {
        ClassifierOutput output{
            .scores = settings.get<bool>("output.scores"), .names = settings.get<bool>("output.names"), .weights = {}};
        if (settings.weights() != nullptr) {
            output.weights = settings.weights()->native();
        }
        return open_classifier(output);
    }
};

}  // namespace

std::unique_ptr<OpenApp> open_classifier(const ClassifierOutput& output) {
    return std::make_unique<OpenClassifier>(output);
}

const App& classifier_app() {
    static const ClassifierApp app;
    return app;
}

}  // namespace sluice::classifier
