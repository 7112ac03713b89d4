#include <fmt/format.h>

#include "comm/node_view.hpp"
#include "core/device/cuda.hpp"
#include "core/error.hpp"
#include "core/machine/cgroup.hpp"
#include "core/machine/launch.hpp"
#include "core/machine/placement_text.hpp"
#include "core/machine/topology_hwloc.hpp"
#include "core/text/program_name.hpp"
#include "core/text/wording.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/cli/topology_json.hpp"
#include "tools/doctor/facts.hpp"
#include "tools/runtime/standard_output.hpp"

namespace po = boost::program_options;

namespace sluice {
namespace {

constexpr std::uint32_t most_ranks = 4096;  // as layout.ranks_per_node

void topo_options(Options& options) {
    options.add_options()                                              //
        ("xml", po::value<std::string>()->value_name("FILE"),          //
         "another machine, as `lstopo FILE.xml` wrote it there")       //
        ("ranks-per-node", po::value<std::string>()->value_name("N"),  //
         "how many ranks share the node; default: as the job says, else one per GPU, at least one");
    add_set_option(options, "layout.cpus_per_rank=8");
}

/// A machine and the GPUs visible to a process there.
struct Sight {
    Topology topology;
    std::vector<VisibleGpu> gpus{};
    std::vector<std::string> notes{};
    std::uint32_t quota_cpus = 0;
};

void look_at_gpus(Sight& sight) {
    VisibleGpus visible = visible_gpus(sight.topology, own_variable("CUDA_VISIBLE_DEVICES"));
    sight.gpus = std::move(visible.gpus);
    sight.notes.insert(sight.notes.end(), visible.notes.begin(), visible.notes.end());
}

/// Each task draws what a run of its own would do there.
void note_other_tasks(Sight& sight) {
    if (const Launch launch = read_launch(); launch.tasks > 1 && !launch.is_left_over()) {
        sight.notes.push_back(fmt::format(
            "this is the drawing of one of {} tasks, for a run on its own: `{} doctor`, started as the run, "
            "looks at all ranks",
            launch.tasks, program_name()));
    }
}

Sight this_machine(DeviceKind wanted) {
    Sight sight{.topology = read_machine(TopologyDetail::devices).topology, .quota_cpus = read_quota_cpus()};
    if (!sight.topology.why_unbindable.empty()) {
        sight.notes.push_back(fmt::format("a run binds no thread to a core: {}", sight.topology.why_unbindable));
    }
    const std::vector<CudaGpu> gpus = cuda_gpus();
    if (!gpus.empty()) {
        add_cuda_gpus(sight.topology, gpus);
        sight.gpus = visible_gpus(gpus);
        return sight;
    }
    look_at_gpus(sight);
    if (wanted == DeviceKind::cuda) {
        sight.notes.push_back(
            fmt::format("run.device = \"cuda\": a run of this program ends with an error here: {}", why_no_cuda()));
    } else if (!sight.gpus.empty()) {
        sight.notes.push_back(
            fmt::format("a run of this program computes on the host, without GPUs: {}", why_no_cuda()));
    }
    return sight;
}

/// The ranks of `wish`, each with the CPUs that it requests.
RankLayout layout_of(Sight& sight, const JobWish& wish, std::optional<std::uint32_t> ranks) {
    const JobConfig::Layout& wanted = wish.layout;
    if (!ranks && (wanted.ranks_per_node || wanted.gpus_per_node > 0)) {
        ranks = wanted.ranks_per_node.value_or(wanted.gpus_per_node);
    }
    if (wanted.gpus_per_node > sight.gpus.size() && wish.device != DeviceKind::host) {
        sight.notes.push_back(
            fmt::format("layout.gpus_per_node = {}, but {} visible; lower it, or look at another node",
                        wanted.gpus_per_node, count_of(sight.gpus.size(), "GPU")));
    }
    if (wish.layout.bind == BindMode::none) {
        sight.topology.mask = sight.topology.allowed;
    }
    RankLayout layout =
        equal_ranks(sight.topology, wish.device == DeviceKind::host ? std::vector<VisibleGpu>() : sight.gpus, ranks);
    layout.devices = wish.devices;
    if (layout.devices && (wish.device == DeviceKind::host || sight.gpus.empty())) {
        layout.devices = std::min(*layout.devices, most_host_devices(sight.topology.cores.size()));
    }
    for (NodeRank& rank : layout.ranks) {
        rank.quota_cpus = sight.quota_cpus;
    }
    if (wanted.cpus_per_rank && wanted.bind != BindMode::none) {
        const std::vector<CpuSet> masks = block_masks(sight.topology, layout.ranks.size(), *wanted.cpus_per_rank);
        for (std::size_t rank = 0; rank < masks.size(); ++rank) {
            layout.ranks[rank].mask = masks[rank];
        }
        if (masks.empty()) {
            sight.notes.push_back(fmt::format("{} with layout.cpus_per_rank = {} need more than the {} available",
                                              count_of(layout.ranks.size(), "rank"), *wanted.cpus_per_rank,
                                              count_of(sight.topology.mask.size(), "CPU")));
        }
    }
    return layout;
}

int draw_topology(const ParsedArguments& parsed) {
    const std::optional<std::uint32_t> ranks = count_option(parsed, "ranks-per-node", most_ranks);
    const std::optional<JobConfig> job = job_of(parsed);
    const JobWish wish = job ? wish_of(*job) : JobWish{};
    Sight sight;
    if (parsed.has("xml")) {
        sight.topology = read_topology(parsed.options["xml"].as<std::string>());
        look_at_gpus(sight);
    } else {
        sight = this_machine(wish.device);
        note_other_tasks(sight);
    }
    const RankLayout layout = layout_of(sight, wish, ranks);
    Placement placement = place(sight.topology, layout);
    placement.notes.insert(placement.notes.begin(), sight.notes.begin(), sight.notes.end());
    print(parsed.has("json") ? json_text(topology_json(sight.topology, layout, placement))
                             : topology_text(sight.topology, layout, placement));
    return 0;
}

}  // namespace

const Command topo_command{
    .name = "topo",
    .synopsis = "[JOB.toml] [OPTION]...",
    .summary = "draw the machine, and where ranks and their threads sit",
    .details =
        "Shows NUMA nodes, cores, GPUs and network adapters, and the GPUs, cores and adapter that\n"
        "each rank of this node would get. Respects the cgroup, the launcher's CPU mask and\n"
        "CUDA_VISIBLE_DEVICES; with a job, its [layout], run.device and run.devices: then ranks have\n"
        "the CPUs that Slurm gives them. docs/topology.md explains the drawing.",
    .exit_codes =
        "  0   drawn                     65  --xml: not the XML of a machine\n"
        "  64  wrong command line        66  cannot open the job file, or that of --xml\n"
        "                                78  wrong job file or --set; or more devices than a rank sees",
    .example = "  {program} topo --xml node.xml --ranks-per-node 4",
    .json = true,
    .own_options = topo_options,
    .most_operands = 1,
    .run = draw_topology,
};

}  // namespace sluice
