#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "core/cgroup.hpp"
#include "core/cuda.hpp"
#include "core/error.hpp"
#include "core/topology_hwloc.hpp"
#include "core/topology_text.hpp"
#include "tools/command_line.hpp"
#include "tools/topology_json.hpp"

namespace po = boost::program_options;

namespace sluice {
namespace {

constexpr std::uint32_t most_ranks = 1024;

po::options_description options() {
    po::options_description options;
    options.add_options()                                                                      //
        ("xml", po::value<std::string>()->value_name("FILE"),                                  //
         "another machine, as `lstopo FILE.xml` has written it there")                         //
        ("ranks-per-node", po::value<std::string>()->value_name("N"),                          //
         "how many ranks share the node; without it one a GPU, or one where there is no GPU")  //
        ("json", "print a JSON object");
    return options;
}

std::optional<std::uint32_t> ranks_in(const ParsedArguments& parsed) {
    if (!parsed.has("ranks-per-node")) {
        return std::nullopt;
    }
    const std::string& text = parsed.options["ranks-per-node"].as<std::string>();
    std::uint32_t ranks = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ranks);
    if (error != std::errc() || end != text.data() + text.size() || ranks < 1 || ranks > most_ranks) {
        throw Error(ExitCode::usage, {.id = "E-USE-098",
                                      .where = "sluice topo",
                                      .what = fmt::format("--ranks-per-node: got {}, expected an integer 1..{}",
                                                          quoted(text), most_ranks),
                                      .hint = "sluice topo --help"});
    }
    return ranks;
}

/// A machine and the GPUs that a process sees there.
struct Sight {
    Topology topology;
    std::vector<VisibleGpu> gpus{};
    std::vector<std::string> notes{};
    std::uint32_t quota_cpus = 0;
};

std::optional<std::string> cuda_visible_devices() {
    const char* const value = std::getenv("CUDA_VISIBLE_DEVICES");
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void look_at_gpus(Sight& sight) {
    VisibleGpus visible = visible_gpus(sight.topology, cuda_visible_devices());
    sight.gpus = std::move(visible.gpus);
    sight.notes.insert(sight.notes.end(), visible.notes.begin(), visible.notes.end());
}

Sight this_machine() {
    Sight sight{.topology = read_machine(TopologyDetail::devices).topology, .quota_cpus = read_quota_cpus()};
    if (!sight.topology.why_unbindable.empty()) {
        sight.notes.push_back(fmt::format("a run ties no thread to a core: {}", sight.topology.why_unbindable));
    }
    const std::vector<CudaGpu> gpus = cuda_gpus();
    if (!gpus.empty()) {
        add_cuda_gpus(sight.topology, gpus);
        sight.gpus = visible_gpus(gpus);
        return sight;
    }
    look_at_gpus(sight);
    if (!sight.gpus.empty()) {
        sight.notes.push_back(
            fmt::format("a run of this program computes on the host, without GPUs: {}", why_no_cuda()));
    }
    return sight;
}

int draw_topology(const Command& command, Arguments arguments) {
    const ParsedArguments parsed = parse_arguments(command, arguments);
    const std::optional<std::uint32_t> ranks = ranks_in(parsed);
    Sight sight;
    if (parsed.has("xml")) {
        sight.topology = read_topology(parsed.options["xml"].as<std::string>());
        look_at_gpus(sight);
    } else {
        sight = this_machine();
    }
    RankLayout layout = equal_ranks(sight.topology, sight.gpus, ranks);
    for (NodeRank& rank : layout.ranks) {
        rank.quota_cpus = sight.quota_cpus;
    }
    Placement placement = place(sight.topology, layout);
    placement.notes.insert(placement.notes.begin(), sight.notes.begin(), sight.notes.end());
    print(parsed.has("json") ? topology_json(sight.topology, layout, placement).dump(2) + "\n"
                             : topology_text(sight.topology, layout, placement));
    return 0;
}

}  // namespace

const Command topo_command{
    .name = "topo",
    .synopsis = "sluice topo [OPTION]...",
    .summary = "draw the machine, and where ranks and their threads sit",
    .details =
        "Shows NUMA nodes, cores, GPUs and network adapters, and the GPUs, cores and adapter that\n"
        "each rank of this node would get. Respects the cgroup, the launcher's CPU mask and\n"
        "CUDA_VISIBLE_DEVICES. docs/topology.md explains the drawing.",
    .exit_codes =
        "  0   drawn                     65  --xml: not the XML of a machine\n"
        "  64  wrong command line        66  --xml: cannot open the file",
    .example = "  sluice topo --xml node.xml --ranks-per-node 4",
    .options = options,
    .most_operands = 0,
    .run = draw_topology,
};

}  // namespace sluice
