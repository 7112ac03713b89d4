#include "apps/gpt2/checkpoint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "apps/gpt2/checkpoint_index.hpp"
#include "apps/gpt2/config_numbers.hpp"
#include "apps/gpt2/tensors.hpp"
#include "apps/tensor_values.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/machine/cgroup.hpp"
#include "core/sync/work_team.hpp"
#include "kernels/philox.hpp"

namespace sluice::gpt2 {
namespace {

constexpr std::size_t head_floats = std::tuple_size_v<ConfigNumbers>;  // what a blob begins with

constexpr std::string_view head_name = "lm_head.weight";

std::uint64_t elements_of(const Config& config) {
    std::uint64_t count = 0;
    for (const TensorSpec& spec : tensors_of(config)) {
        count += spec.elements();
    }
    return count;
}

/// `from`: the key that they are made by. Throws Error (out_of_memory).
WeightBlob blob_for(const Config& config, std::string_view from) {
    const std::uint64_t floats = head_floats + elements_of(config);
    check_weights_fit(floats * sizeof(float), from);
    WeightBlob blob = WeightBlob::of_floats(floats);
    const ConfigNumbers head = numbers_of(config);
    std::memcpy(blob.floats().data(), head.data(), sizeof head);
    return blob;
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

    void read(std::span<const TensorSpec> wanted, std::span<float> to) const {
        std::vector<StoredValues> values;
        TensorsInOrder take(to);
        for (const TensorSpec& spec : wanted) {
            const std::span<float> part = take(static_cast<std::size_t>(spec.elements()));
            values.push_back(stored(by_name_.at(spec.name), spec.shape, part));
        }
        read_finite(values);
        check_head(wanted, values);
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

    static StoredValues stored(const Place& place, const std::vector<std::uint64_t>& shape, std::span<float> to) {
        return place.reader->stored({place.entry->name, shape}, to);
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
    void check_head(std::span<const TensorSpec> wanted, std::span<const StoredValues> read) const {
        const auto head = by_name_.find(head_name);
        if (head == by_name_.end() || wanted.back().name == head_name) {
            return;
        }
        const auto tokens = std::ranges::find_if(wanted, [](const TensorSpec& spec) {
            return spec.name == "wte.weight" || spec.name == "embed_tokens.weight";
        });
        const std::span<const float> embeddings = read[static_cast<std::size_t>(tokens - wanted.begin())].to;
        const SafetensorsEntry& entry = *head->second.entry;
        std::vector<float> values(entry.shape == tokens->shape ? embeddings.size() : 0);
        if (!values.empty()) {
            const StoredValues own = stored(head->second, entry.shape, values);
            read_finite({&own, 1});
        }
        if (!std::ranges::equal(values, embeddings)) {
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
        const std::vector<TensorSpec> specs = gpt2_tensors(default_config().shape);
        checkpoint.only().check(specs);
        WeightBlob blob = blob_for(default_config(), "model.weights");
        checkpoint.only().read(specs, blob.floats().subspan(head_floats));
        return blob;
    }
    const Config read = read_config(config.value(), generation);
    const std::vector<TensorSpec> specs = tensors_of(read);
    checkpoint.check(specs);
    WeightBlob blob = blob_for(read, "model.weights");
    checkpoint.read(specs, blob.floats().subspan(head_floats));
    return blob;
}

WeightBlob random_checkpoint(const Config& config, std::uint64_t seed) {
    WeightBlob blob = blob_for(config, "model.random");
    TensorsInOrder take(blob.floats().subspan(head_floats));
    WorkTeam team(startup_helpers());
    std::uint32_t number = 0;
    const bool by_outputs = config.family == Family::llama;
    for (const TensorSpec& spec : tensors_of(config)) {
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
    std::memcpy(head.data(), blob.floats().data(), sizeof head);
    return config_of(head);
}

DecoderWeights weights_of(const WeightBlob& blob) {
    const Config config = config_of(blob);
    const std::span<const float> tensors = blob.floats().subspan(head_floats);
    return config.family == Family::llama ? llama_weights(config, tensors) : gpt2_weights(config.shape, tensors);
}

}  // namespace sluice::gpt2
