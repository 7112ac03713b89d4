#include "apps/classifier/classifier_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>

#include "apps/classifier/classifier_codec.hpp"
#include "apps/tensor_values.hpp"
#include "core/error.hpp"
#include "core/files/checksum.hpp"
#include "core/sync/work_team.hpp"

namespace sluice::classifier {
namespace {

/// Counter-based: value i of tensor t depends on (seed, t, i) alone. SplitMix64's mixing: Steele, Lea, Flood 2014.
std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
}

/// Nearly normal, mean 0, variance 1: the sum of four 16-bit uniforms. Only exact arithmetic and one rounded product,
/// so that no mathematical library has a say in the bits.
double bell(std::uint64_t bits) {
    constexpr double centre = 2.0 * 65535.0;
    constexpr double per_deviation = 1.0 / 37837.226777626965;  // sqrt(4 * (65536^2 - 1) / 12)
    const std::uint64_t sum = (bits & 0xffffU) + ((bits >> 16U) & 0xffffU) + ((bits >> 32U) & 0xffffU) + (bits >> 48U);
    return (static_cast<double>(sum) - centre) * per_deviation;
}

/// Neighbouring positions of a channel get opposite weights: what all texts have at both of them cancels.
double difference(std::uint64_t key, std::uint64_t i) {
    const double value = bell(mix(key + i / 2));
    return i % 2 == 0 ? value : -value;
}

struct Spread {
    double mean;
    double deviation;
};

/// After a threshold of one deviation a value's mean square is 0.075 (half a normal's without one), so the products'
/// gain is 1 / 0.075, where He et al. 2015 have 2. The threshold lets only what stands out pass: blanks stay exactly
/// zero, and what texts have in common does not drown what tells them apart, which would give all of them one label.
constexpr double threshold = -1.0;
constexpr double gain = 13.3;

Spread spread_of(const TensorSpec& spec) {
    if (spec.name.starts_with("w_")) {
        const double fan_in = static_cast<double>(spec.elements()) / static_cast<double>(spec.shape[0]);
        return {0.0, std::sqrt(gain / fan_in)};
    }
    if (spec.name.starts_with("gamma_")) {
        return {1.0, 0.1};
    }
    if (spec.name == "b_conv1" || spec.name == "b_fc3") {
        return {0.0, 0.05};
    }
    return {threshold, 0.1};
}

/// What lies behind the tensors in a blob, and is broadcast with them.
struct Trailer {
    ClassifierSizes sizes;
    std::uint64_t names = 0;  ///< XXH3 of the classes' names, so that other names are another model.
};
constexpr std::size_t trailer_floats = sizeof(Trailer) / sizeof(float);
static_assert(sizeof(Trailer) == trailer_floats * sizeof(float) && std::is_trivially_copyable_v<Trailer>);

constexpr const char* labels_key = "labels";
constexpr std::uint32_t channel_step = 64;  // what the kernels take
constexpr std::uint32_t most_channels = 1024;
constexpr std::uint32_t most_hidden = 8192;

[[noreturn]] void refuse_names(const TensorReader& reader, std::string what, std::string hint) {
    throw Error(ExitCode::bad_data, {"E-MOD-058", reader.where(), std::move(what), std::move(hint)});
}

bool has_nul(const std::string& text) {
    return text.find('\0') != std::string::npos;
}

WeightBlob blob_for(const ClassifierSizes& sizes, std::uint64_t names) {
    const std::size_t count = classifier_weight_count(sizes);
    WeightBlob blob = WeightBlob::of_floats(count + trailer_floats);
    const Trailer trailer{sizes, names};
    std::memcpy(blob.floats().data() + count, &trailer, sizeof trailer);
    return blob;
}

/// A size that the first dimension of tensor `name` sets: a multiple of `step`, at most `most`. `otherwise` if there is
/// no such tensor, of which the reader then says that it is missing.
std::uint32_t size_of(const TensorReader& reader, const char* name, std::uint32_t otherwise, std::uint32_t step,
                      std::uint32_t most) {
    const SafetensorsEntry* entry = reader.find(name);
    if (entry == nullptr || entry->shape.empty()) {
        return otherwise;
    }
    const std::uint64_t size = entry->shape.front();
    if (size == 0 || size % step != 0 || size > most) {
        refuse_tensors(reader.where(),
                       fmt::format("tensor {}: got {} outputs, expected {} up to {}", quoted(name), size,
                                   step == 1 ? "1" : fmt::format("a multiple of {}", step), most));
    }
    return static_cast<std::uint32_t>(size);
}

}  // namespace

std::vector<TensorSpec> classifier_tensors(const ClassifierSizes& sizes) {
    using Shape = std::vector<std::uint64_t>;
    const ClassifierNetwork n(sizes);
    const auto conv = [](const Conv1dShape& of) { return Shape{of.out_channels, of.in_channels, of.taps}; };
    const auto linear = [](const LinearShape& of) { return Shape{of.outputs, of.inputs}; };
    const Shape norm1{n.conv1.channels, n.conv1.positions()};
    const Shape norm6{n.norm6.channels, n.norm6.positions};
    const Shape c{sizes.channels};
    const Shape h{sizes.hidden};
    return {
        {"w_conv1", {n.conv1.channels, n.conv1.symbols, n.conv1.taps}},
        {"b_conv1", c},
        {"gamma_conv1", norm1},
        {"beta_conv1", norm1},
        {"w_conv2", conv(n.conv2)},
        {"b_conv2", c},
        {"w_conv3", conv(n.conv3)},
        {"b_conv3", c},
        {"w_conv4", conv(n.conv4)},
        {"b_conv4", c},
        {"w_conv5", conv(n.conv5)},
        {"b_conv5", c},
        {"w_conv6", conv(n.conv6)},
        {"b_conv6", c},
        {"gamma_conv6", norm6},
        {"beta_conv6", norm6},
        {"w_fc1", linear(n.fc1)},
        {"b_fc1", h},
        {"w_fc2", linear(n.fc2)},
        {"b_fc2", h},
        {"w_fc3", {classifier_classes, n.fc2.outputs}},
        {"b_fc3", {classifier_classes}},
    };
}

std::size_t classifier_weight_count(const ClassifierSizes& sizes) {
    std::size_t count = 0;
    for (const TensorSpec& spec : classifier_tensors(sizes)) {
        count += spec.elements();
    }
    return count;
}

ClassifierWeights::ClassifierWeights(const WeightBlob& blob) {
    const std::span<float> all = blob.floats();
    expects(all.size() > trailer_floats, "classifier: a weight blob of the wrong size");
    values_ = all.first(all.size() - trailer_floats);
    std::memcpy(static_cast<void*>(&sizes_), values_.data() + values_.size(), sizeof sizes_);  // the trailer's first
    expects(values_.size() == classifier_weight_count(sizes_), "classifier: a weight blob of the wrong size");
}

std::span<const float> ClassifierWeights::tensor(std::string_view name) const {
    TensorsInOrder take(values_);
    for (const TensorSpec& spec : classifier_tensors(sizes_)) {
        const std::span<const float> tensor = take(spec.elements());
        if (spec.name == name) {
            return tensor;
        }
    }
    throw ContractViolation("classifier: no tensor of that name");
}

namespace {

/// Throws Error (bad_data) unless the file holds a classifier's tensors.
ClassifierSizes checked_sizes(const TensorReader& reader) {
    constexpr ClassifierSizes paper;
    const ClassifierSizes sizes{.channels = size_of(reader, "w_conv1", paper.channels, channel_step, most_channels),
                                .hidden = size_of(reader, "w_fc1", paper.hidden, 1, most_hidden)};
    reader.check(classifier_tensors(sizes));
    return sizes;
}

}  // namespace

WeightBlob read_classifier_weights(const std::filesystem::path& path) {
    const TensorReader reader(path);
    const ClassifierSizes sizes = checked_sizes(reader);
    const std::string* labels = reader.metadata(labels_key);
    const std::vector<TensorSpec> wanted = classifier_tensors(sizes);
    WeightBlob blob = blob_for(sizes, labels == nullptr ? 0 : checksum_of(std::as_bytes(std::span(*labels))));
    reader.read(wanted, ClassifierWeights(blob).values());
    return blob;
}

std::vector<std::string> read_class_names(const std::filesystem::path& path) {
    const TensorReader reader(path);
    static_cast<void>(checked_sizes(reader));  // what other files lack is not their classes' names
    const std::string* text = reader.metadata(labels_key);
    if (text == nullptr) {
        refuse_names(reader, "output.names is set, but these weights do not name their classes",
                     "leave output.names out, or export the weights with labels");
    }
    std::vector<std::string> names;
    const nlohmann::json list = nlohmann::json::parse(*text, nullptr, false);
    if (list.is_array() && !has_nul(*text)) {  // the parser would end there
        for (const nlohmann::json& name : list) {
            names.push_back(name.is_string() ? name.get<std::string>() : std::string());
        }
    }
    const std::set<std::string> different(names.begin(), names.end());
    if (names.size() != classifier_classes || different.size() != names.size() || different.contains("") ||
        std::ranges::any_of(names, has_nul)) {  // .npy fills names up with NUL
        refuse_names(reader,
                     fmt::format("metadata {}: got {}, expected a JSON list of {} different names", quoted(labels_key),
                                 quoted(*text), classifier_classes),
                     "export the weights with labels");
    }
    return names;
}

WeightBlob random_classifier_weights(std::uint64_t seed) {
    WeightBlob blob = blob_for({}, 0);
    TensorsInOrder take(ClassifierWeights(blob).values());
    WorkTeam team(startup_helpers());
    std::uint64_t key = mix(seed);
    for (const TensorSpec& spec : classifier_tensors()) {
        key = mix(key);
        const Spread spread = spread_of(spec);
        const bool differences = spec.name == "w_fc1";
        draw_values(team, take(spec.elements()), [&](std::size_t i) {
            const double value = differences ? difference(key, i) : bell(mix(key + i));
            return static_cast<float>(spread.mean + spread.deviation * value);
        });
    }
    return blob;
}

}  // namespace sluice::classifier
