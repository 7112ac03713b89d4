#include "apps/gpt2/checkpoint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "apps/gpt2/checkpoint_index.hpp"
#include "core/error.hpp"
#include "core/sync/work_team.hpp"
#include "kernels/philox.hpp"

namespace sluice::gpt2 {
namespace {

constexpr std::size_t head_floats = 16;  // a cache line for the sizes

/// What a blob begins with.
struct Head {
    DecoderShape shape;
    std::uint32_t begin;
    std::uint32_t end;
};
constexpr std::uint32_t no_token = UINT32_MAX;
constexpr std::string_view head_name = "lm_head.weight";
static_assert(sizeof(Head) <= head_floats * sizeof(float));

/// "0", "1", "10", "11", "2", …
std::vector<std::uint32_t> blocks_by_text(std::uint32_t layers) {
    std::vector<std::string> names;
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
        names.push_back(fmt::format("{}", layer));
    }
    std::ranges::sort(names);
    std::vector<std::uint32_t> blocks(layers);
    std::ranges::transform(names, blocks.begin(),
                           [](const std::string& name) { return static_cast<std::uint32_t>(std::stoul(name)); });
    return blocks;
}

std::uint64_t elements_of(const DecoderShape& shape) {
    std::uint64_t count = 0;
    for (const TensorSpec& spec : gpt2_tensors(shape)) {
        count += spec.elements();
    }
    return count;
}

WeightBlob blob_for(const Config& config) {
    const Head head{config.shape, config.begin.value_or(no_token), config.end.value_or(no_token)};
    WeightBlob blob = WeightBlob::of_floats(head_floats + elements_of(config.shape));
    std::ranges::fill(blob.floats().first(head_floats), 0.0F);
    std::memcpy(blob.floats().data(), &head, sizeof head);
    return blob;
}

/// The tensors of one or several safetensors files.
class Checkpoint {
public:
    explicit Checkpoint(const std::filesystem::path& weights) : where_(escaped(weights.native())) {
        if (!is_checkpoint_index(weights)) {
            readers_.push_back(std::make_unique<TensorReader>(weights));
        } else {
            for (const std::filesystem::path& shard : shards_of(weights)) {
                readers_.push_back(std::make_unique<TensorReader>(shard));
            }
        }
        for (const auto& reader : readers_) {
            for (const SafetensorsEntry& entry : reader->tensors()) {
                if (!by_name_.emplace(without_prefix(entry.name), Place{reader.get(), &entry}).second) {
                    refuse_tensor(entry.name, "stands in two files");
                }
            }
        }
    }

    [[nodiscard]] bool is_headerless() const { return readers_.size() == 1 && readers_[0]->is_headerless(); }
    [[nodiscard]] const TensorReader& only() const { return *readers_.front(); }

    /// Before room is made for what may not be there: all of `wanted`, and nothing else but what other programs keep
    /// beside it.
    void check(std::span<const TensorSpec> wanted) const {
        std::set<std::string_view> known;
        for (const TensorSpec& spec : wanted) {
            known.insert(spec.name);
            const auto found = by_name_.find(spec.name);
            if (found == by_name_.end()) {
                refuse_tensor(spec.name, "is missing");
            }
            if (found->second.entry->shape != spec.shape) {
                refuse_tensor(spec.name,
                              fmt::format("has shape [{}], expected [{}]", fmt::join(found->second.entry->shape, ","),
                                          fmt::join(spec.shape, ",")));
            }
        }
        for (const auto& [name, place] : by_name_) {
            if (!known.contains(name) && !is_kept_beside(name)) {
                refuse_tensor(name, "is not one of this model's");
            }
        }
    }

    void read(std::span<const TensorSpec> wanted, std::span<float> to) const {
        for (const TensorSpec& spec : wanted) {
            const Place place = by_name_.at(spec.name);
            const auto part = to.first(static_cast<std::size_t>(spec.elements()));
            place.reader->read({place.entry->name, spec.shape}, part);
            to = to.subspan(part.size());
            if (spec.name == "wte.weight") {
                check_head(spec, part);
            }
        }
        for (const auto& reader : readers_) {
            reader->check_unchanged();
        }
    }

private:
    struct Place {
        const TensorReader* reader;
        const SafetensorsEntry* entry;
    };

    static std::string without_prefix(std::string_view name) {
        constexpr std::string_view prefix = "transformer.";
        return std::string(name.starts_with(prefix) ? name.substr(prefix.size()) : name);
    }

    /// A head of its own makes another model, whatever config.json says.
    void check_head(const TensorSpec& tokens, std::span<const float> embeddings) const {
        const auto head = by_name_.find(head_name);
        if (head == by_name_.end()) {
            return;
        }
        const SafetensorsEntry& entry = *head->second.entry;
        std::vector<float> values(entry.shape == tokens.shape ? embeddings.size() : 0);
        if (!values.empty()) {
            head->second.reader->read({entry.name, entry.shape}, values);
        }
        if (!std::ranges::equal(values, embeddings)) {
            refuse_tensor(entry.name, "is not the token embeddings once more");
        }
    }

    /// The causal mask, and the head.
    static bool is_kept_beside(std::string_view name) {
        return name == head_name ||
               (name.starts_with("h.") && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")));
    }

    [[noreturn]] void refuse_tensor(std::string_view name, std::string what) const {
        throw Error(ExitCode::bad_data, {.id = "E-MOD-047",
                                         .where = where_,
                                         .what = fmt::format("tensor {} {}", quoted(name), what),
                                         .hint = "check that the weights belong to this config.json"});
    }

    std::string where_;
    std::vector<std::unique_ptr<TensorReader>> readers_;
    std::map<std::string, Place, std::less<>> by_name_;
};

/// Normal by the sum of twelve uniforms: the same on every machine.
float normal_of(std::uint64_t seed, std::uint64_t item, std::uint32_t tensor) {
    float sum = -6;
    for (std::uint32_t i = 0; i < 3; ++i) {
        for (const std::uint32_t word : random_words(seed, {.item = item, .number = i, .purpose = tensor}).words) {
            sum += uniform_below_one(word);
        }
    }
    return sum;
}

}  // namespace

std::vector<TensorSpec> gpt2_tensors(const DecoderShape& shape) {
    const std::uint64_t width = shape.width;
    const std::uint64_t inner = shape.inner;
    std::vector<TensorSpec> specs;
    for (const std::uint32_t block : blocks_by_text(shape.layers)) {
        const auto add = [&](const char* name, std::vector<std::uint64_t> dims) {
            specs.push_back({fmt::format("h.{}.{}", block, name), std::move(dims)});
        };
        add("attn.c_attn.bias", {3 * width});
        add("attn.c_attn.weight", {width, 3 * width});
        add("attn.c_proj.bias", {width});
        add("attn.c_proj.weight", {width, width});
        add("ln_1.bias", {width});
        add("ln_1.weight", {width});
        add("ln_2.bias", {width});
        add("ln_2.weight", {width});
        add("mlp.c_fc.bias", {inner});
        add("mlp.c_fc.weight", {width, inner});
        add("mlp.c_proj.bias", {width});
        add("mlp.c_proj.weight", {inner, width});
    }
    specs.push_back({"ln_f.bias", {width}});
    specs.push_back({"ln_f.weight", {width}});
    specs.push_back({"wpe.weight", {shape.positions, width}});
    specs.push_back({"wte.weight", {shape.vocabulary, width}});
    return specs;
}

WeightBlob read_checkpoint(const std::filesystem::path& weights, const std::optional<std::filesystem::path>& config) {
    const Checkpoint checkpoint(weights);
    if (checkpoint.is_headerless()) {
        const std::vector<TensorSpec> specs = gpt2_tensors(default_config().shape);
        checkpoint.only().check(specs);
        WeightBlob blob = blob_for(default_config());
        checkpoint.only().read(specs, blob.floats().subspan(head_floats));
        return blob;
    }
    const Config read = read_config(config.value());
    const std::vector<TensorSpec> specs = gpt2_tensors(read.shape);
    checkpoint.check(specs);
    WeightBlob blob = blob_for(read);
    checkpoint.read(specs, blob.floats().subspan(head_floats));
    return blob;
}

WeightBlob random_checkpoint(const Config& config, std::uint64_t seed) {
    constexpr unsigned most_threads = 8;
    constexpr std::size_t piece = 65536;  // values
    WeightBlob blob = blob_for(config);
    std::span<float> left = blob.floats().subspan(head_floats);
    WorkTeam team(std::clamp(std::thread::hardware_concurrency(), 1U, most_threads) - 1);
    std::uint32_t number = 0;
    for (const TensorSpec& spec : gpt2_tensors(config.shape)) {
        const bool is_norm = spec.name.find("ln_") != std::string::npos;
        const bool is_matrix = spec.shape.size() == 2 && spec.name.starts_with("h.");
        const float mean = is_norm && spec.name.ends_with("weight") ? 1.0F : 0.0F;
        const float deviation = is_matrix ? 2.0F / std::sqrt(static_cast<float>(spec.shape[0])) : 0.1F;
        const std::span<float> part = left.first(static_cast<std::size_t>(spec.elements()));
        const auto draw = [&](std::uint32_t of_tensor) {
            const std::size_t first = of_tensor * piece;
            for (std::size_t i = first; i < std::min(first + piece, part.size()); ++i) {
                part[i] = mean + deviation * normal_of(seed, i, number);
            }
        };
        team.run(static_cast<std::uint32_t>((part.size() + piece - 1) / piece), draw);
        left = left.subspan(part.size());
        ++number;
    }
    return blob;
}

Config config_of(const WeightBlob& blob) {
    Head head{};
    std::memcpy(static_cast<void*>(&head), blob.floats().data(), sizeof head);
    const auto token = [](std::uint32_t id) { return id == no_token ? std::nullopt : std::optional(id); };
    return {head.shape, token(head.begin), token(head.end)};
}

DecoderWeights weights_of(const WeightBlob& blob) {
    const DecoderShape shape = config_of(blob).shape;
    const std::size_t width = shape.width;
    std::span<const float> left = blob.floats().subspan(head_floats);
    const auto take = [&](std::size_t count) {
        const auto tensor = left.first(count);
        left = left.subspan(count);
        return tensor;
    };
    const auto take_linear = [&](std::size_t inputs, std::size_t outputs) {
        const auto bias = take(outputs);
        return DecoderLinear{.weights = take(inputs * outputs), .bias = bias};
    };
    const auto take_norm = [&] {
        const auto beta = take(width);
        return DecoderNorm{.gamma = take(width), .beta = beta};
    };
    DecoderWeights weights{.tokens = {}, .positions = {}, .last_norm = {}};
    weights.blocks.resize(shape.layers);
    for (const std::uint32_t number : blocks_by_text(shape.layers)) {
        DecoderBlockWeights& block = weights.blocks[number];
        block.attention = take_linear(width, 3 * width);
        block.projection = take_linear(width, width);
        block.attention_norm = take_norm();
        block.inner_norm = take_norm();
        block.expansion = take_linear(width, shape.inner);
        block.contraction = take_linear(shape.inner, width);
    }
    weights.last_norm = take_norm();
    weights.positions = take(shape.positions * width);
    weights.tokens = take(shape.vocabulary * width);
    return weights;
}

}  // namespace sluice::gpt2
