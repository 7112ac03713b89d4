#include "tools/cli/topology_json.hpp"

#include "core/error.hpp"
#include "core/json_types.hpp"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

template <class List, class ToJson>
Json list_of(const List& list, const ToJson& to_json) {
    Json all = Json::array();
    for (const auto& one : list) {
        all.push_back(to_json(one));
    }
    return all;
}

Json machine_json(const Topology& topology) {
    Json machine;
    machine["cpus"] = topology.cpus.text();
    machine["allowed"] = topology.allowed.text();
    machine["mask"] = topology.mask.text();
    machine["packages"] = list_of(topology.packages, [](const Package& package) {
        return Json{{"number", package.number}, {"model", escaped(package.model)}, {"cpus", package.cpus.text()}};
    });
    machine["numa_nodes"] = list_of(topology.numa_nodes, [](const NumaNode& node) {
        return Json{{"number", node.number}, {"bytes", node.bytes}, {"cpus", node.cpus.text()}, {"gpu", node.gpu}};
    });
    machine["cores"] = list_of(topology.cores, [](const Core& core) {
        return Json{{"number", core.number}, {"cpus", core.cpus.text()}};
    });
    machine["gpus"] = list_of(topology.gpus, [](const Gpu& gpu) {
        return Json{
            {"pci", gpu.pci}, {"uuid", escaped(gpu.uuid)}, {"name", escaped(gpu.name)}, {"near", gpu.near.text()}};
    });
    machine["nics"] = list_of(topology.nics, [](const Nic& nic) {
        return Json{{"pci", nic.pci}, {"name", escaped(nic.name)}, {"fabric", nic.fabric}, {"near", nic.near.text()}};
    });
    return machine;
}

Json device_json(const RankLayout& layout, const NodeRank& rank, const DevicePlace& device) {
    Json json;
    if (layout.device == DeviceKind::cuda) {
        const VisibleGpu& gpu = rank.gpus[device.number];
        json = {{"kind", "cuda"}, {"number", device.number}, {"id", escaped(gpu.id)}, {"pci", gpu.pci}};
    } else {
        json = {{"kind", "host"}, {"number", device.number}};
    }
    json["driver"] = device.cpus.text();
    json["memory_node"] = device.memory_node;
    json["near"] = device.is_near;
    return json;
}

}  // namespace

Json topology_json(const Topology& topology, const RankLayout& layout, const Placement& placement) {
    Json ranks = Json::array();
    for (std::size_t i = 0; i < placement.ranks.size(); ++i) {
        const RankPlace& rank = placement.ranks[i];
        const auto device = [&](const DevicePlace& one) { return device_json(layout, layout.ranks[i], one); };
        ranks.push_back({{"cpus", rank.cpus.text()},
                         {"own_cores", rank.has_own_cores},
                         {"devices", list_of(rank.devices, device)},
                         {"comm", rank.comm.text()},
                         {"readers", rank.readers.text()},
                         {"reader_threads", rank.reader_threads},
                         {"nic", rank.nic ? Json(escaped(topology.nics[*rank.nic].name)) : Json()}});
    }
    return {{"machine", machine_json(topology)}, {"ranks", ranks}, {"notes", placement.notes}};
}

}  // namespace sluice
