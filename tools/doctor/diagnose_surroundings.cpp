#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "tools/doctor/topics.hpp"

namespace sluice {
namespace {

constexpr double mega = 1e6;
constexpr std::uint64_t least_locked = 64ULL << 20U;  // bytes of the largest message
constexpr double slow_link = 125 * mega;              // 1 Gbit/s: typical of a login network
constexpr double longest_clock_error = 1e-3;          // about a chunk's time: stage tables would be wrong
constexpr double longest_wall_difference = 1;         // seconds, the resolution of logs
constexpr std::uint64_t least_free = 16ULL << 20U;

const RankFacts* find_rank(const DoctorFacts& facts, int rank) {
    const auto found = std::ranges::find(facts.ranks, static_cast<std::uint32_t>(rank), &RankFacts::rank);
    return found == facts.ranks.end() ? nullptr : &*found;
}

/// MPI's shared memory does not reach another node.
bool goes_by_tcp_alone(const MpiTransport& transport) {
    const auto is_way_out = [](const std::string& way) { return way != "vader" && way != "tcp"; };
    return transport.layer == "ob1" && std::ranges::none_of(transport.ways, is_way_out);
}

void look_at_fabric(const DoctorFacts& facts, const Remedies& remedies, std::vector<Finding>& findings) {
    const RankList ranks = ranks_where(
        facts, [](const RankFacts& rank) { return !rank.fabrics.empty() && goes_by_tcp_alone(rank.transport); });
    if (!ranks.empty()) {
        const MpiTransport& transport = ranks.front()->transport;
        findings.push_back(
            warning("W-MPI-140",
                    fmt::format("{}: MPI goes by TCP ({}), although the node has {}", who(ranks),
                                fmt::join(transport.interfaces, ", "), fmt::join(ranks.front()->fabrics, ", ")),
                    remedies.variable("OMPI_MCA_pml", "ucx")));
    }
}

void look_at_links(const DoctorFacts& facts, const Remedies& remedies, std::vector<Finding>& findings) {
    std::vector<double> speeds;
    for (const LinkSpeed& link : facts.links) {
        speeds.push_back(link.bytes_per_second);
    }
    if (speeds.empty()) {
        return;
    }
    std::ranges::sort(speeds);
    const double usual = speeds[speeds.size() / 2];
    std::vector<std::string> hosts;
    double worst = usual;
    for (const LinkSpeed& link : facts.links) {
        const RankFacts* const rank = find_rank(facts, link.to);
        if (rank != nullptr && link.bytes_per_second < usual / 2) {
            hosts.push_back(rank->host);
            worst = std::min(worst, link.bytes_per_second);
        }
    }
    if (!hosts.empty()) {
        findings.push_back(warning("W-MPI-141",
                                   fmt::format("{}: {:.0f} MB/s from rank 0, the usual node of this job {:.0f}",
                                               fmt::join(hosts, ", "), worst / mega, usual / mega),
                                   remedies.exclude(hosts)));
    } else if (usual < slow_link) {
        const RankFacts& root = facts.ranks.front();
        findings.push_back(warning(
            "W-MPI-141",
            fmt::format("{:.0f} MB/s between nodes, by {}", usual / mega, fmt::join(root.transport.interfaces, ", ")),
            remedies.variable("OMPI_MCA_btl_tcp_if_include", "INTERFACE") +
                ", the fastest that `ip -br link` shows on all nodes"));
    }
}

}  // namespace

std::vector<Finding> diagnose_memory(const DoctorFacts& facts, const Remedies& remedies) {
    const RankList ranks = ranks_where(facts, [](const RankFacts& rank) {
        return rank.locked_bytes && *rank.locked_bytes < least_locked && !rank.fabrics.empty();
    });
    std::vector<Finding> findings;
    if (!ranks.empty()) {
        findings.push_back(warning(
            "W-MEM-067",
            fmt::format("{}: may lock {:.1f} MiB of memory (ulimit -l), {} needs it for every message", who(ranks),
                        static_cast<double>(*ranks.front()->locked_bytes) / mebi, ranks.front()->fabrics.front()),
            remedies.unlock_memory()));
    }
    return findings;
}

std::vector<Finding> diagnose_network(const DoctorFacts& facts, const Remedies& remedies) {
    std::vector<Finding> findings;
    if (by_node(facts.ranks).size() > 1) {
        look_at_fabric(facts, remedies, findings);
        look_at_links(facts, remedies, findings);
    }
    return findings;
}

std::vector<Finding> diagnose_clocks(const DoctorFacts& facts) {
    std::vector<Finding> findings;
    RankList inexact;
    RankList apart;
    double error = 0;
    double difference = 0;
    for (const RankFacts& rank : facts.ranks) {
        if (rank.clock_error_seconds > longest_clock_error) {
            inexact.push_back(&rank);
            error = std::max(error, rank.clock_error_seconds);
        }
        if (std::abs(rank.wall_ahead_seconds) > longest_wall_difference) {
            apart.push_back(&rank);
            difference = std::max(difference, std::abs(rank.wall_ahead_seconds));
        }
    }
    if (!inexact.empty()) {
        findings.push_back(
            warning("W-TRC-142",
                    fmt::format("{}: clocks are known within ± {:.0f} us only; the latency table is no better",
                                who(inexact), error / micro),
                    "keep other work off these nodes (#SBATCH --exclusive)"));
    }
    if (!apart.empty()) {
        findings.push_back(warning(
            "W-TRC-143", fmt::format("{}: the wall clock is {:.0f} s apart from rank 0's", who(apart), difference),
            "ask the administrator to start chrony there: times in logs and of files are wrong"));
    }
    return findings;
}

std::vector<Finding> diagnose_output(const DoctorFacts& facts) {
    std::vector<Finding> findings;
    if (!facts.output) {
        return findings;
    }
    const OutputFacts& output = *facts.output;
    if (!output.why_not.empty()) {
        findings.push_back(error("E-OUT-021", ExitCode::cannot_create,
                                 fmt::format("{}: {}", output.folder, output.why_not),
                                 "create the folder or make it writable, or choose another output.path"));
        return findings;
    }
    if (output.free_bytes < least_free || output.free_files == 0) {
        findings.push_back(error(
            "E-OUT-026", ExitCode::cannot_create,
            fmt::format("{}: {:.1f} MiB and {} free", output.folder, static_cast<double>(output.free_bytes) / mebi,
                        output.free_files == 0 ? "no inode is" : "inodes are"),
            "free space, or choose another output.path"));
    }
    if (output.in_memory) {
        findings.push_back(warning("W-OUT-027",
                                   fmt::format("{}: a {} of the node's memory, gone when the job or the node ends",
                                               output.folder, output.file_system),
                                   "output.path on a file system that stays"));
    }
    const RankList blind = ranks_where(facts, [](const RankFacts& rank) { return !rank.sees_output; });
    if (!blind.empty()) {
        findings.push_back(
            warning("W-OUT-027",
                    fmt::format("{}: does not see {} of rank 0; a job that is resumed there would start over",
                                who(blind), output.folder),
                    "output.path on a file system that all nodes share"));
    }
    return findings;
}

}  // namespace sluice
