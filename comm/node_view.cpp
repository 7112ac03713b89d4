#include "comm/node_view.hpp"

#include <algorithm>
#include <utility>

#include "core/device/cuda.hpp"
#include "core/json_types.hpp"
#include "core/machine/cgroup.hpp"

namespace sluice {

void to_json(nlohmann::json& to, const CpuSet& from) {
    to = from.text();
}

void from_json(const nlohmann::json& from, CpuSet& to) {
    const std::optional<CpuSet> set = CpuSet::parse(from.get<std::string>());
    expects(set.has_value(), "a CPU mask in the kernel's list form");
    to = *set;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(VisibleGpu, id, pci)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeRank, mask, quota_cpus, quota_group, gpus)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CudaGpu, uuid, pci, name, host_numa_node)

namespace {

/// What the ranks of a node exchange.
struct NodeMessage {
    NodeRank rank{};
    std::vector<CudaGpu> gpus{};
    int number = 0;  ///< Rank in the job.
    bool reads = false;
    bool knows_node = false;  ///< Whether hwloc knows the node.
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeMessage, rank, gpus, number, reads, knows_node)

/// Exchanges the messages of this node's ranks, in node order; sets `me` to this rank's index.
std::vector<NodeMessage> exchange(MpiSession* session, const NodeMessage& mine, std::size_t& me) {
    if (session == nullptr) {
        me = 0;
        return {mine};
    }
    me = static_cast<std::size_t>(session->node_rank());
    std::vector<NodeMessage> messages;
    for (const std::string& text : session->node_all_gather(packed(mine))) {
        messages.push_back(unpacked<NodeMessage>(text));
    }
    return messages;
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
    NodeMessage mine{.number = session == nullptr ? 0 : session->rank(),
                     .reads = wish.reads,
                     .knows_node = view.machine.affinity != nullptr};
    if (cuda) {
        mine.gpus = wish.gpus ? *wish.gpus : cuda_gpus();
    }
    mine.rank = {
        .mask = topology.mask, .quota_cpus = quota.cpus, .quota_group = quota.group, .gpus = visible_gpus(mine.gpus)};
    view.layout = {.device = wish.device, .devices = wish.devices};
    const std::vector<NodeMessage> messages = exchange(session, mine, view.me);
    view.first_rank = messages.front().number;
    std::vector<CpuSet> masks;
    bool all_know_it = true;
    for (const NodeMessage& message : messages) {
        masks.push_back(message.rank.mask);
        all_know_it = all_know_it && message.knows_node;
        view.layout.reader = message.reads ? view.layout.ranks.size() : view.layout.reader;
        view.layout.ranks.push_back(message.rank);
    }
    topology = common_topology(std::move(topology), masks, !all_know_it);
    for (const NodeMessage& message : messages) {  // GPUs invisible to this rank too: all compute the same placement
        add_cuda_gpus(topology, message.gpus);
    }
    if (!cuda && view.layout.devices) {
        view.layout.devices = std::min(*view.layout.devices, most_host_devices(topology.cores.size()));
    }
    view.placement = place(topology, view.layout);
    return view;
}

}  // namespace sluice
