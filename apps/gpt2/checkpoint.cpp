#include "apps/gpt2/checkpoint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "apps/gpt2/checkpoint_index.hpp"
#include "apps/gpt2/config_numbers.hpp"
#include "apps/gpt2/tensor_layout.hpp"
#include "apps/gpt2/tensors.hpp"
#include "apps/tensor_values.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/machine/cgroup.hpp"
#include "core/sync/work_team.hpp"
#include "kernels/philox.hpp"

namespace sluice::gpt2 {
namespace {

constexpr std::string_view head_name = "lm_head.weight";

/// A blob is a Config as numbers, the types of the tensors, a byte each, and the tensors, which begin on a cache line.
constexpr std::size_t types_begin = sizeof(ConfigNumbers);

std::size_t tensors_begin(std::size_t tensors) {
    constexpr std::size_t cache_line = 64;
    return (types_begin + tensors + cache_line - 1) / cache_line * cache_line;
}

std::span<std::byte> tensors_in(const WeightBlob& blob, const TensorLayout& layout) {
    return blob.memory.bytes().subspan(tensors_begin(layout.tensors().size()), layout.bytes());
}

TensorLayout layout_of(const Config& config, const WeightBlob& blob) {
    std::vector<TensorSpec> tensors = tensors_of(config);
    std::vector<FloatType> types(tensors.size());
    std::memcpy(types.data(), &blob.memory.bytes()[types_begin], types.size() * sizeof types[0]);
    return {std::move(tensors), std::move(types)};
}

/// `from`: the key that they are made by. Throws Error (out_of_memory).
WeightBlob blob_for(const Config& config, const TensorLayout& layout, std::string_view from) {
    const std::size_t begin = tensors_begin(layout.tensors().size());
    check_weights_fit(begin + layout.bytes(), from);
    WeightBlob blob{NodeMemory::for_node(begin + layout.bytes())};
    const ConfigNumbers head = numbers_of(config);
    std::memcpy(blob.memory.bytes().data(), head.data(), sizeof head);
    std::memcpy(&blob.memory.bytes()[types_begin], layout.types().data(), layout.types().size_bytes());
    return blob;
}

TensorLayout layout_as_fp32(std::vector<TensorSpec> tensors) {
    std::vector<FloatType> types(tensors.size(), FloatType::f32);
    return {std::move(tensors), std::move(types)};
}

/// All values of a blob whose tensors are fp32.
std::span<float> floats_in(const WeightBlob& blob, const TensorLayout& layout) {
    const std::span<std::byte> bytes = tensors_in(blob, layout);
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

bool are_equal(const WeightValues& a, const WeightValues& b) {
    if (a.size() != b.size()) {
        return false;
    }
    constexpr std::size_t piece = 16'384;
    for (std::size_t first = 0; first < a.size(); first += piece) {
        const std::size_t count = std::min(piece, a.size() - first);
        if (a.subspan(first, count).floats() != b.subspan(first, count).floats()) {
            return false;
        }
    }
    return true;
}

/// The tensors of one or several safetensors files.
class Checkpoint {
public:
    explicit Checkpoint(const std::filesystem::path& weights) : where_(escaped(weights.native())) {
        const bool is_index = is_checkpoint_index(weights);
        for (const std::filesystem::path& file : is_index ? shards_of(weights) : std::vector{weights}) {
            const TensorReader& reader = *readers_.emplace_back(std::make_unique<TensorReader>(file));
            for (const SafetensorsEntry& entry : reader.tensors()) {
                const auto [other, is_new] =
                    by_name_.emplace(without_prefix(entry.name), Place{&reader, &entry, file.filename().native()});
                if (!is_new) {
                    refuse_tensor(entry.name, other->second.reader == &reader
                                                  ? fmt::format("is {} once more", quoted(other->second.entry->name))
                                                  : "stands in two files");
                }
            }
        }
        if (is_index) {
            check_index(weight_map_of(weights));
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

    /// Of `wanted`, which have been checked.
    [[nodiscard]] std::vector<FloatType> types_of(std::span<const TensorSpec> wanted) const {
        std::vector<FloatType> types;
        for (const TensorSpec& spec : wanted) {
            types.push_back(type_of(by_name_.at(spec.name)));
        }
        return types;
    }

    /// The tensors of `layout`, which are of types_of(), to `memory`.
    void read(const TensorLayout& layout, std::span<std::byte> memory) const {
        std::vector<StoredValues> values;
        for (std::size_t i = 0; i < layout.tensors().size(); ++i) {
            values.push_back(stored(by_name_.at(layout.tensors()[i].name), layout.types()[i], layout.room(i, memory)));
        }
        read_finite(values);
        check_head(layout, memory);
        for (const auto& reader : readers_) {
            reader->check_unchanged();
        }
    }

private:
    struct Place {
        const TensorReader* reader;
        const SafetensorsEntry* entry;
        std::string file;
    };

    static std::string without_prefix(std::string_view name) {
        for (const std::string_view prefix : {"transformer.", "model."}) {
            if (name.starts_with(prefix)) {
                return std::string(name.substr(prefix.size()));
            }
        }
        return std::string(name);
    }

    static FloatType type_of(const Place& place) {
        return place.reader->type_of({place.entry->name, place.entry->shape});
    }
    static StoredValues stored(const Place& place, FloatType as, std::span<std::byte> to) {
        return place.reader->stored({place.entry->name, place.entry->shape}, as, to);
    }

    /// But for what nobody reads: programs that drop a head that is tied leave its name in the index.
    void check_index(const WeightMap& said) const {
        for (const auto& [name, place] : by_name_) {
            const std::string& tensor = place.entry->name;
            const auto found = said.find(tensor);
            if ((found == said.end() || found->second != place.file) && !is_kept_beside(name)) {
                refuse_index(where_,
                             fmt::format("tensor {} is in {}, and this index {}", quoted(tensor), quoted(place.file),
                                         found == said.end() ? "does not name it"
                                                             : fmt::format("says in {}", quoted(found->second))));
            }
        }
        for (const auto& [tensor, file] : said) {
            const std::string name = without_prefix(tensor);
            const auto found = by_name_.find(name);
            if ((found == by_name_.end() || found->second.entry->name != tensor) && !is_kept_beside(name)) {
                refuse_index(where_, fmt::format("tensor {} is in no file, and this index says in {}", quoted(tensor),
                                                 quoted(file)));
            }
        }
    }

    /// A head of its own that is not `wanted` makes another model, whatever config.json says.
    void check_head(const TensorLayout& layout, std::span<const std::byte> memory) const {
        const std::span<const TensorSpec> wanted = layout.tensors();
        const auto head = by_name_.find(head_name);
        if (head == by_name_.end() || wanted.back().name == head_name) {
            return;
        }
        const auto tokens = std::ranges::find_if(wanted, [](const TensorSpec& spec) {
            return spec.name == "wte.weight" || spec.name == "embed_tokens.weight";
        });
        const WeightValues embeddings = layout.values(static_cast<std::size_t>(tokens - wanted.begin()), memory);
        const SafetensorsEntry& entry = *head->second.entry;
        const FloatType type = type_of(head->second);
        std::vector<std::byte> values(entry.shape == tokens->shape ? embeddings.size() * bytes_of(type) : 0);
        if (!values.empty()) {
            const StoredValues own = stored(head->second, type, values);
            read_finite({&own, 1});
        }
        if (!are_equal({type, values}, embeddings)) {
            refuse_tensor(entry.name, "is not the token embeddings once more");
        }
    }

    /// The causal mask, the frequencies of rotary positions, and the head.
    static bool is_kept_beside(std::string_view name) {
        return name == head_name ||
               (name.starts_with("h.") && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"))) ||
               (name.starts_with("layers.") && name.ends_with(".rotary_emb.inv_freq"));
    }

    [[noreturn]] void refuse_tensor(std::string_view name, std::string_view what) const {
        refuse_tensors(where_, fmt::format("tensor {} {}", quoted(name), what),
                       "check that the weights belong to this config.json");
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

std::vector<TensorSpec> tensors_of(const Config& config) {
    return config.family == Family::llama ? llama_tensors(config) : gpt2_tensors(config.shape);
}

bool has_config(const std::filesystem::path& weights) {
    return is_checkpoint_index(weights) || lower_extension(weights) == ".safetensors" ||
           !TensorReader(weights).is_headerless();
}

WeightBlob read_checkpoint(const std::filesystem::path& weights, const std::optional<std::filesystem::path>& config,
                           const std::optional<std::filesystem::path>& generation) {
    const Checkpoint checkpoint(weights);
    if (checkpoint.is_headerless()) {
        const TensorLayout layout = layout_as_fp32(gpt2_tensors(default_config().shape));
        checkpoint.only().check(layout.tensors());
        WeightBlob blob = blob_for(default_config(), layout, "model.weights");
        checkpoint.only().read(layout.tensors(), floats_in(blob, layout));
        return blob;
    }
    const Config read = read_config(config.value(), generation);
    std::vector<TensorSpec> tensors = tensors_of(read);
    checkpoint.check(tensors);
    std::vector<FloatType> types = checkpoint.types_of(tensors);
    const TensorLayout layout(std::move(tensors), std::move(types));
    WeightBlob blob = blob_for(read, layout, "model.weights");
    checkpoint.read(layout, tensors_in(blob, layout));
    return blob;
}

WeightBlob random_checkpoint(const Config& config, std::uint64_t seed) {
    const TensorLayout layout = layout_as_fp32(tensors_of(config));
    WeightBlob blob = blob_for(config, layout, "model.random");
    TensorsInOrder take(floats_in(blob, layout));
    WorkTeam team(startup_helpers());
    std::uint32_t number = 0;
    const bool by_outputs = config.family == Family::llama;
    for (const TensorSpec& spec : layout.tensors()) {
        const bool is_norm = spec.name.find("ln_") != std::string::npos || spec.name.find("norm") != std::string::npos;
        const bool is_matrix =
            spec.shape.size() == 2 && (spec.name.starts_with("h.") || spec.name.starts_with("layers."));
        const float mean = is_norm && spec.name.ends_with("weight") ? 1.0F : 0.0F;
        const float deviation = is_matrix ? 2.0F / std::sqrt(static_cast<float>(spec.shape[by_outputs ? 1 : 0])) : 0.1F;
        draw_values(team, take(static_cast<std::size_t>(spec.elements())),
                    [&](std::size_t i) { return mean + deviation * normal_of(seed, i, number); });
        ++number;
    }
    return blob;
}

Config config_of(const WeightBlob& blob) {
    ConfigNumbers head{};
    std::memcpy(head.data(), blob.memory.bytes().data(), sizeof head);
    return config_of(head);
}

DecoderWeights weights_of(const WeightBlob& blob) {
    const Config config = config_of(blob);
    const TensorLayout layout = layout_of(config, blob);
    const TensorsInMemory tensors(layout, tensors_in(blob, layout));
    return config.family == Family::llama ? llama_weights(config, tensors) : gpt2_weights(config.shape, tensors);
}

}  // namespace sluice::gpt2
