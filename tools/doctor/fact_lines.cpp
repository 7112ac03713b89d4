#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/modes.hpp"
#include "core/text/wording.hpp"
#include "tools/doctor/topics.hpp"

namespace sluice {

template <>
inline constexpr std::array<std::string_view, 4> words_of<Launcher>{"without a launcher", "by srun", "by mpirun",
                                                                    "by a process manager"};

namespace {

constexpr double gibi = 1024.0 * 1024.0 * 1024.0;

/// Range over all ranks: "3", "2-4".
template <class Number>
std::string range_of(const DoctorFacts& facts, Number RankFacts::*number) {
    const auto [least, most] = std::ranges::minmax_element(facts.ranks, {}, number);
    return (*least).*number == (*most).*number ? fmt::format("{}", (*least).*number)
                                               : fmt::format("{}-{}", (*least).*number, (*most).*number);
}

std::string bytes_text(std::uint64_t bytes) {
    return bytes < std::uint64_t{1} << 30U ? fmt::format("{:.0f} MiB", static_cast<double>(bytes) / mebi)
                                           : fmt::format("{:.1f} GiB", static_cast<double>(bytes) / gibi);
}

/// The least limit of all ranks.
std::string least_of(const DoctorFacts& facts, std::optional<std::uint64_t> RankFacts::*limit) {
    std::optional<std::uint64_t> least;
    for (const RankFacts& rank : facts.ranks) {
        if (const auto& bytes = rank.*limit; bytes && (!least || *bytes < *least)) {
            least = bytes;
        }
    }
    return least ? bytes_text(*least) : "no limit";
}

}  // namespace

std::string launch_line(const DoctorFacts& facts) {
    const std::size_t nodes = by_node(facts.ranks).size();
    return fmt::format("{} on {}, started {}", count_of(facts.world, "rank"),
                       nodes == 1 ? facts.ranks.front().host : count_of(nodes, "node"), name_of(facts.launch.launcher));
}

std::string cores_line(const DoctorFacts& facts) {
    return fmt::format("{} per rank{}, of {} allowed on a node", range_of(facts, &RankFacts::own_cores),
                       facts.device == DeviceKind::cuda
                           ? fmt::format(" for {} busy threads", range_of(facts, &RankFacts::threads))
                           : "",
                       range_of(facts, &RankFacts::allowed_cores));
}

std::string gpus_line(const DoctorFacts& facts) {
    if (facts.device != DeviceKind::cuda) {
        return facts.wish.device == DeviceKind::host ? "not wanted (run.device = \"host\")" : "none; the host computes";
    }
    std::size_t count = 0;
    std::set<std::string> models;
    double slowest = 0;
    double fastest_pageable = 0;
    for (const RankFacts& rank : facts.ranks) {
        count += rank.gpus.size();
        for (const GpuFacts& gpu : rank.gpus) {
            models.insert(gpu.name);
            const double pinned = std::min(gpu.copies.pinned_up, gpu.copies.pinned_down);
            slowest = slowest == 0 ? pinned : std::min(slowest, pinned);
            fastest_pageable = std::max({fastest_pageable, gpu.copies.pageable_up, gpu.copies.pageable_down});
        }
    }
    std::string line =
        fmt::format("{} ({}), one driver each, near its CPUs", count_of(count, "GPU"), fmt::join(models, ", "));
    if (slowest > 0) {
        line += fmt::format("; copies {:.1f} GB/s pinned at least, {:.1f} pageable at most", slowest / giga,
                            fastest_pageable / giga);
    }
    return line;
}

std::string memory_line(const DoctorFacts& facts) {
    return fmt::format("{} for the job on a node, locked memory {}", least_of(facts, &RankFacts::memory_bytes),
                       least_of(facts, &RankFacts::locked_bytes));
}

std::string network_line(const DoctorFacts& facts) {
    const MpiTransport& transport = facts.ranks.front().transport;
    if (facts.world == 1) {
        return {};
    }
    std::string line = fmt::format("{}, {}{}{}", transport.library.empty() ? "MPI" : transport.library,
                                   transport.layer.empty() ? "by an unknown transport" : transport.layer,
                                   transport.ways.empty() ? "" : "/", fmt::join(transport.ways, "+"));
    if (by_node(facts.ranks).size() > 1 && !transport.interfaces.empty()) {
        line += fmt::format(" by {}", fmt::join(transport.interfaces, ", "));
    }
    if (!facts.links.empty()) {
        const auto slowest = std::ranges::min_element(facts.links, {}, &LinkSpeed::bytes_per_second);
        const auto farthest = std::ranges::max_element(facts.links, {}, &LinkSpeed::latency_seconds);
        line += fmt::format("; rank 0 to {}: {:.1f} us, {:.2f} GB/s",
                            facts.links.size() == 1 ? fmt::format("rank {}", facts.links.front().to)
                                                    : fmt::format("{} others at worst", facts.links.size()),
                            farthest->latency_seconds / micro, slowest->bytes_per_second / giga);
    }
    return line;
}

std::string clocks_line(const DoctorFacts& facts) {
    if (facts.world == 1) {
        return {};
    }
    double error = 0;
    for (const RankFacts& rank : facts.ranks) {
        error = std::max(error, rank.clock_error_seconds);
    }
    return fmt::format("known within ± {:.1f} us of rank 0's", error / micro);
}

std::string output_line(const DoctorFacts& facts) {
    if (!facts.output) {
        return {};
    }
    const OutputFacts& output = *facts.output;
    return fmt::format("{}{}: {} free", output.folder,
                       output.file_system.empty() ? "" : fmt::format(" ({})", output.file_system),
                       bytes_text(output.free_bytes));
}

}  // namespace sluice
