#include "tools/doctor/gather.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "comm/clock_alignment.hpp"
#include "core/clock.hpp"
#include "core/device/copy_speed.hpp"
#include "core/device/cuda.hpp"
#include "core/files/paths.hpp"
#include "core/machine/cgroup.hpp"
#include "core/machine/provenance.hpp"
#include "core/stage_error.hpp"
#include "kernels/host_instructions.hpp"
#include "slurm/child.hpp"
#include "tools/doctor/output_facts.hpp"

namespace sluice {
namespace {

constexpr std::size_t copied_bytes = std::size_t{64} << 20U;  // enough for the full speed of any bus
constexpr std::size_t most_peers = 16;

std::optional<std::uint64_t> locked_memory_limit() {
    rlimit limit{};
    const bool known = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return known ? std::optional<std::uint64_t>(limit.rlim_cur) : std::nullopt;
}

/// InfiniBand and similar adapters.
std::vector<std::string> fabrics() {
    std::vector<std::string> names;
    for (const auto& entry : entries_of("/sys/class/infiniband")) {  // the folder is missing on machines without them
        names.push_back(escaped(entry.filename().native()));
    }
    std::ranges::sort(names);
    return names;
}

std::vector<GpuFacts> gpus_of(const NodeView& node) {
    std::vector<GpuFacts> gpus;
    const Topology& topology = node.machine.topology;
    for (const DevicePlace& device : node.placement.ranks[node.me].devices) {
        const VisibleGpu& seen = node.layout.ranks[node.me].gpus[device.number];
        GpuFacts& gpu = gpus.emplace_back(GpuFacts{.id = escaped(seen.id), .pci = seen.pci, .is_near = device.is_near});
        gpu.driver = device.cpus.text();
        if (const auto index = find_gpu(topology, seen.pci)) {
            gpu.name = escaped(topology.gpus[*index].name);
            gpu.near = topology.gpus[*index].near.text();
        }
    }
    return gpus;
}

/// The node's ranks, even if the job requests more GPUs than one of them sees, which is a finding.
NodeView view_any_node(MpiSession* session, const Examination& job) {
    NodeWish wish{.device = job.device,
                  .devices = job.wish.devices,
                  .bind = job.wish.layout.bind,
                  .reads = session == nullptr || session->rank() == 0,
                  .detail = TopologyDetail::devices};
    try {
        return view_node(session, wish);
    } catch (const Error& error) {
        if (error.text().id != "E-GPU-062") {
            throw;
        }
        wish.devices = {};  // on all ranks of the node
        return view_node(session, wish);
    }
}

template <class Look>
void note_failure(RankFacts& facts, const Look& look) {
    try {
        look();
    } catch (const std::exception&) {
        const Failure failure = describe(std::current_exception(), "");
        facts.failure = failure.text;
        facts.failure_code = static_cast<int>(failure.code);
    }
}

void measure_gpus(RankFacts& facts, const NodeView& node) {
    const std::vector<DevicePlace>& devices = node.placement.ranks[node.me].devices;
    if (devices.empty()) {
        static_cast<void>(make_cuda_device(0));  // throws the reason
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
        facts.gpus[i].copies = measure_copies(*make_cuda_device(devices[i].number), copied_bytes);
    }
}

/// Sets how far this rank's wall clock is ahead of rank 0's, in seconds, and the error of the clock offset.
void compare_clocks(MpiSession& session, RankFacts& facts) {
    const ClockOffset clock = align_clock(session);
    const auto wall_of_steady_zero = [] {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::system_clock::now().time_since_epoch() - Clock::now().time_since_epoch())
            .count();
    };
    const std::int64_t mine = wall_of_steady_zero();
    std::int64_t roots = mine;
    session.broadcast_number(roots);
    if (session.rank() != 0) {  // on rank 0 it is the worst of all, another rank's
        facts.clock_error_seconds = Seconds(clock.error).count();
        facts.wall_ahead_seconds = Seconds(std::chrono::nanoseconds(mine - roots) - clock.offset).count();
    }
}

/// The nodes' first ranks, or rank 1 on a single node; a limited number, evenly spread.
std::vector<int> peers_of(MpiSession& session, int first_rank) {
    std::vector<int> peers = session.all_gather(first_rank);
    std::ranges::sort(peers);
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    std::erase(peers, 0);
    if (peers.empty() && session.size() > 1) {
        return {1};
    }
    std::vector<int> some;
    const std::size_t count = std::min(peers.size(), most_peers);
    for (std::size_t i = 0; i < count; ++i) {
        some.push_back(peers[i * peers.size() / count]);
    }
    return some;
}

void look_for_marker(MpiSession& session, const OutputMarker* marker, RankFacts& facts) {
    std::string path = marker == nullptr ? std::string() : marker->path();
    session.broadcast(path);
    std::error_code unseen;
    facts.sees_output = path.empty() || std::filesystem::exists(path, unseen);
    session.barrier();  // rank 0 removes it when all have checked
}

}  // namespace

RankFacts facts_of(const NodeView& node, const Examination& job, const Launch& launch) {
    const Topology& topology = node.machine.topology;
    const RankPlace& place = node.placement.ranks[node.me];
    const NodeRank& rank = node.layout.ranks[node.me];
    RankFacts facts{.node = static_cast<std::uint32_t>(node.first_rank), .host = escaped(host_name())};
    facts.mask = topology.mask.text();
    facts.allowed = topology.allowed.text();
    facts.mask_cpus = topology.mask.size();
    facts.mask_cores = cores_in(topology, topology.mask);
    facts.allowed_cores = cores_in(topology, topology.allowed);
    facts.machine_cpus = topology.cpus.size();
    facts.job_cpus = launch.cpus_on_node;
    facts.quota_cpus = rank.quota_cpus;
    facts.own_cores = place.cores;
    facts.has_own_cores = place.has_own_cores;
    facts.instructions = name_of(host_instructions());
    facts.why_unbindable = escaped(topology.why_unbindable);
    facts.machine_gpus = static_cast<std::uint32_t>(topology.gpus.size());
    facts.threads = std::max(1U, job.wish.devices.value_or(1));
    if (job.device == DeviceKind::cuda) {
        facts.gpus = gpus_of(node);
        std::ranges::transform(rank.gpus, std::back_inserter(facts.seen),
                               [](const VisibleGpu& gpu) { return escaped(gpu.id); });
        const bool reads = node.layout.reader == node.me;
        facts.threads = static_cast<std::uint32_t>(facts.gpus.size()) + (reads ? 2U : 1U);  // drivers, comm, reader
    }
    facts.locked_bytes = locked_memory_limit();
    if (const std::uint64_t memory = read_available_memory(); memory != no_memory_limit) {
        facts.memory_bytes = memory;
    }
    facts.fabrics = fabrics();
    return facts;
}

DoctorFacts gather_facts(MpiSession* session, const Examination& job) {
    DoctorFacts all{.launch = read_launch(), .wish = job.wish, .device = job.device};
    const NodeView node = view_any_node(session, job);
    RankFacts mine = facts_of(node, job, all.launch);
    if (job.device == DeviceKind::host && job.wish.device == DeviceKind::automatic) {
        mine.why_no_cuda = why_no_cuda();
    }
    std::optional<OutputMarker> marker;
    if (job.output && (session == nullptr || session->rank() == 0)) {
        all.output = look_at_output(*job.output);
        marker.emplace(*job.output, *all.output);
    }
    if (session != nullptr) {
        all.world = static_cast<std::uint32_t>(session->size());
        compare_clocks(*session, mine);
        look_for_marker(*session, marker ? &*marker : nullptr, mine);
        all.links = probe_links(*session, peers_of(*session, node.first_rank));
        session->barrier();  // GPUs are measured simultaneously, as in a run, and undisturbed
    }
    if (job.device == DeviceKind::cuda) {
        note_failure(mine, [&] { measure_gpus(mine, node); });
    }
    all.ranks = gather_ranks(session, std::move(mine));
    return all;
}

std::vector<RankFacts> gather_ranks(MpiSession* session, RankFacts mine) {
    if (session == nullptr) {
        return {std::move(mine)};
    }
    mine.rank = static_cast<std::uint32_t>(session->rank());
    mine.transport = read_mpi_transport();
    std::vector<RankFacts> ranks;
    for (const std::string& text : session->gather(encode(mine))) {
        ranks.push_back(decode_rank_facts(text));
    }
    return ranks;
}

std::optional<SlurmVersion> parse_slurm_version(std::string_view text) {
    constexpr std::string_view name = "slurm";
    if (!text.starts_with(name) || text.find(' ') == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(text.find(' ') + 1);
    const char* const end = text.data() + text.size();
    SlurmVersion version;
    const auto [dot, bad_year] = std::from_chars(text.data(), end, version.year);
    if (bad_year != std::errc() || dot == end || *dot != '.') {
        return std::nullopt;
    }
    const auto [rest, bad_month] = std::from_chars(dot + 1, end, version.month);
    return bad_month == std::errc() ? std::optional(version) : std::nullopt;
}

std::optional<SlurmVersion> read_slurm_version() {
    constexpr std::chrono::seconds patience{1};  // some sruns ask a controller, which may not answer
    try {
        const std::optional<ChildResult> result = run_child({"srun", "--version"}, patience);
        return result ? parse_slurm_version(result->out) : std::nullopt;
    } catch (const Error&) {  // there is no srun
        return std::nullopt;
    }
}

}  // namespace sluice
