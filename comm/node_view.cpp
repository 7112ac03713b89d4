#include "comm/node_view.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/device/cuda.hpp"
#include "core/machine/cgroup.hpp"

namespace sluice {
namespace {

/// What the ranks of a node exchange.
struct NodeWord {
    NodeRank rank{};
    std::vector<CudaGpu> gpus{};
    int number = 0;  ///< Rank in the job.
    bool reads = false;
    bool knows_node = false;  ///< Whether hwloc knows the node.
};

std::string encode(const NodeWord& word) {
    nlohmann::json gpus = nlohmann::json::array();
    for (const CudaGpu& gpu : word.gpus) {
        gpus.push_back({gpu.uuid, gpu.pci, gpu.name, gpu.host_numa_node ? std::int64_t{*gpu.host_numa_node} : -1});
    }
    return nlohmann::json{{"mask", word.rank.mask.text()},
                          {"quota", word.rank.quota_cpus},
                          {"quota_group", word.rank.quota_group},
                          {"number", word.number},
                          {"reads", word.reads},
                          {"knows_node", word.knows_node},
                          {"gpus", gpus}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

NodeWord decode_node_word(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    NodeWord word{.number = json.at("number"), .reads = json.at("reads"), .knows_node = json.at("knows_node")};
    for (const nlohmann::json& gpu : json.at("gpus")) {
        word.gpus.push_back({.uuid = gpu.at(0), .pci = gpu.at(1), .name = gpu.at(2)});
        if (const std::int64_t node = gpu.at(3); node >= 0) {
            word.gpus.back().host_numa_node = static_cast<std::uint32_t>(node);
        }
    }
    const std::optional<CpuSet> mask = CpuSet::parse(json.at("mask").get<std::string>());
    expects(mask.has_value(), "a CPU mask in the kernel's list form");
    word.rank = {.mask = *mask,
                 .quota_cpus = json.at("quota"),
                 .quota_group = json.at("quota_group"),
                 .gpus = visible_gpus(word.gpus)};
    return word;
}

/// Exchanges the words of this node's ranks, in node order; sets `me` to this rank's index.
std::vector<NodeWord> exchange(MpiSession* session, const NodeWord& mine, std::size_t& me) {
    if (session == nullptr) {
        me = 0;
        return {mine};
    }
    me = static_cast<std::size_t>(session->node_rank());
    std::vector<NodeWord> words;
    for (const std::string& text : session->node_all_gather(encode(mine))) {
        words.push_back(decode_node_word(text));
    }
    return words;
}

}  // namespace

std::uint32_t most_host_devices(std::size_t cores_of_node) {
    constexpr std::size_t always = 16;
    return static_cast<std::uint32_t>(std::max(cores_of_node, always));
}

NodeView view_node(MpiSession* session, const NodeWish& wish) {
    const bool cuda = wish.device == DeviceKind::cuda;
    NodeView view{.machine = read_machine(cuda ? TopologyDetail::devices : wish.detail)};
    if (wish.bind == BindMode::none) {
        view.finding = leave_mask(view.machine);
    }
    Topology& topology = view.machine.topology;
    const CpuQuota quota = read_cpu_quota();
    NodeWord mine{.number = session == nullptr ? 0 : session->rank(),
                  .reads = wish.reads,
                  .knows_node = view.machine.affinity != nullptr};
    if (cuda) {
        mine.gpus = wish.gpus ? *wish.gpus : cuda_gpus();
    }
    mine.rank = {
        .mask = topology.mask, .quota_cpus = quota.cpus, .quota_group = quota.group, .gpus = visible_gpus(mine.gpus)};
    view.layout = {.device = wish.device, .devices = wish.devices};
    const std::vector<NodeWord> words = exchange(session, mine, view.me);
    view.first_rank = words.front().number;
    std::vector<CpuSet> masks;
    bool all_know_it = true;
    for (const NodeWord& word : words) {
        masks.push_back(word.rank.mask);
        all_know_it = all_know_it && word.knows_node;
        view.layout.reader = word.reads ? view.layout.ranks.size() : view.layout.reader;
        view.layout.ranks.push_back(word.rank);
    }
    topology = common_topology(std::move(topology), masks, !all_know_it);
    for (const NodeWord& word :
         words) {  // includes those invisible to this rank, so that all ranks compute the same placement
        add_cuda_gpus(topology, word.gpus);
    }
    if (!cuda && view.layout.devices) {
        view.layout.devices = std::min(*view.layout.devices, most_host_devices(topology.cores.size()));
    }
    view.placement = place(topology, view.layout);
    return view;
}

}  // namespace sluice
