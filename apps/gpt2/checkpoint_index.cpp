#include "apps/gpt2/checkpoint_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "apps/gpt2/side_file.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"

namespace sluice::gpt2 {
namespace {

using nlohmann::json;

constexpr std::uint64_t largest_index = std::uint64_t{16} << 20U;
constexpr SideFileErrors index_errors{"E-MOD-171", "fetch the checkpoint again, as safetensors"};

}  // namespace

bool is_checkpoint_index(const std::filesystem::path& weights) {
    return lower_extension(weights) == ".json";
}

void refuse_index(const std::string& where, std::string what) {
    refuse_side_file(index_errors, where, std::move(what));
}

WeightMap weight_map_of(const std::filesystem::path& index) {
    const SideFile file = read_side_file(index, index_errors, largest_index);
    const json values = parse_json(file, index_errors);
    const auto map = values.is_object() ? values.find("weight_map") : values.end();
    if (!values.is_object() || map == values.end() || !map->is_object() || map->empty()) {
        refuse_index(file.where, "expected an object with a weight_map: tensors and their files");
    }
    WeightMap files;
    for (const auto& [tensor, shard] : map->items()) {
        const std::string name = shard.is_string() ? shard.get<std::string>() : std::string();
        if (!name.ends_with(".safetensors") || name.find('/') != std::string::npos) {
            refuse_index(file.where,
                         fmt::format("tensor {} is in {}, expected a .safetensors file in the index's folder",
                                     quoted(tensor), escaped(shard.dump())));
        }
        files.emplace(tensor, name);
    }
    return files;
}

std::vector<std::filesystem::path> shards_of(const std::filesystem::path& weights) {
    if (!is_checkpoint_index(weights)) {
        return {};
    }
    std::set<std::string> names;
    for (const auto& [tensor, name] : weight_map_of(weights)) {
        names.insert(name);
    }
    std::vector<std::filesystem::path> files(names.size());
    std::ranges::transform(names, files.begin(), [&](const std::string& name) { return weights.parent_path() / name; });
    return files;
}

}  // namespace sluice::gpt2
