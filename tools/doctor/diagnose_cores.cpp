#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "core/machine/cpu_set.hpp"
#include "core/text/wording.hpp"
#include "kernels/host_instructions.hpp"
#include "tools/doctor/topics.hpp"

namespace sluice {
namespace {

CpuSet cpus_in(const std::string& list) {
    const std::optional<CpuSet> cpus = CpuSet::parse(list);
    expects(cpus.has_value(), "a CPU mask in the kernel's list form");
    return *cpus;
}

/// Hardware threads per core.
std::uint32_t cpus_per_core(const RankFacts& rank) {
    return rank.mask_cores == 0 ? 1 : (rank.mask_cpus + rank.mask_cores - 1) / rank.mask_cores;
}

/// An even share of the node's CPUs in whole cores: Slurm gives a rank no less, and srun waits for ever where they are
/// too few.
std::uint32_t share_of(std::uint32_t cpus, std::uint32_t ranks, std::uint32_t cpus_of_a_core) {
    const std::uint32_t share = std::max(1U, cpus / ranks);
    return share < cpus_of_a_core ? share : share - share % cpus_of_a_core;
}

/// A run on such hosts would end with the same error.
std::vector<Finding> missing_instructions(const DoctorFacts& facts) {
    if (facts.device != DeviceKind::host || facts.wish.precision != Precision::bf16) {
        return {};
    }
    std::map<std::string, RankList> lacking;  // by what they have
    for (const RankFacts& rank : facts.ranks) {
        if (const auto found = find_host_instructions(rank.instructions); found && *found < HostInstructions::amx) {
            lacking[rank.instructions].push_back(&rank);
        }
    }
    std::vector<Finding> findings;
    findings.reserve(lacking.size());
    for (const auto& [instructions, ranks] : lacking) {
        findings.push_back(
            error("E-HWL-146", ExitCode::unavailable,
                  fmt::format("{}: run.precision = \"bf16\" needs AMX on hosts, but the CPUs there have {}, or "
                              "DNNL_MAX_CPU_ISA allows no more",
                              who(ranks), instructions),
                  "set run.precision = \"fp32\", or run the job on Intel Xeons from Sapphire Rapids on, or on GPUs"));
    }
    return findings;
}

class CoreDiagnosis {
public:
    CoreDiagnosis(const DoctorFacts& facts, const Remedies& remedies) : facts_(facts), remedies_(remedies) {}

    std::vector<Finding> take() {
        for (const auto& [node, ranks] : by_node(facts_.ranks)) {
            for (const RankFacts* rank : ranks) {
                look_at(*rank, static_cast<std::uint32_t>(ranks.size()));
            }
            look_at_confinement(ranks);
            look_at_unused(ranks);
        }
        return sayings_.take();
    }

private:
    void say(const RankFacts& rank, const char* id, std::string what, std::string remedy) {
        sayings_.say(rank, id, std::move(what), std::move(remedy));
    }

    /// No option gives the job CPUs that only Slurm believes to exist.
    static bool is_oversold(const RankFacts& rank) {
        return rank.machine_cpus != 0 && rank.job_cpus > rank.machine_cpus;
    }

    /// Gives a rank its CPUs, unless no node of this kind has so many.
    [[nodiscard]] std::string remedy_for_few(const RankFacts& rank, std::uint32_t asked, bool by_job,
                                             std::uint32_t needed, std::uint32_t ranks) const {
        if (is_oversold(rank)) {
            return fmt::format(
                "the node has {}, but Slurm assumes {}: correct CPUs= in slurm.conf (tools/slurm-box does so on "
                "purpose)",
                rank.machine_cpus, rank.job_cpus);
        }
        if (rank.machine_cpus != 0 && asked > rank.machine_cpus) {
            return fmt::format("the node has {}: {}", rank.machine_cpus,
                               by_job ? "lower layout.cpus_per_rank" : "unset the variable if another job left it");
        }
        return remedies_.cpus_per_rank(std::max(asked, needed), ranks);
    }

    /// CPUs of the node that a launcher could give to the run's ranks: Slurm may extend the cgroup.
    [[nodiscard]] std::uint32_t most_cpus(const RankFacts& rank) const {
        const std::uint32_t machine = rank.machine_cpus == 0 ? UINT32_MAX : rank.machine_cpus;
        return facts_.launch.slurm_job ? machine : std::min(machine, cpus_in(rank.allowed).size());
    }

    /// Gives each of the node's `ranks` a core for each busy thread, unless the node has too few.
    [[nodiscard]] std::string remedy_for_busy(const RankFacts& rank, std::uint32_t needed, std::uint32_t ranks) const {
        const std::uint32_t most = most_cpus(rank);
        if (needed <= most / ranks) {
            return remedies_.cpus_per_rank(needed, ranks);
        }
        if (facts_.device != DeviceKind::host) {
            return {};  // each GPU has its driver
        }
        return fmt::format("the node has {} for {}: lower run.devices to {}, or leave it out", count_of(most, "CPU"),
                           count_of(ranks, "rank"), std::max(1U, most / ranks / cpus_per_core(rank)));
    }

    /// Cores of its own for each of the node's `ranks`, or fewer ranks where masks hold all cores or there are too few.
    [[nodiscard]] std::string remedy_for_shared(const RankFacts& rank, std::uint32_t needed,
                                                std::uint32_t ranks) const {
        if (rank.mask == rank.allowed) {
            return remedies_.ranks_per_node(std::max(1U, rank.mask_cores / rank.threads));
        }
        const std::uint32_t most = most_cpus(rank);
        return needed <= most / ranks ? remedies_.cpus_per_rank(needed, ranks)
                                      : remedies_.ranks_per_node(std::max(1U, most / needed));
    }

    void look_at(const RankFacts& rank, std::uint32_t ranks) {
        if (!rank.why_unbindable.empty()) {
            say(rank, "W-HWL-077", "threads are not bound to their CPUs: " + rank.why_unbindable, "");
        }
        const std::uint32_t by_slurm = facts_.launch.cpus_per_task.value_or(0);
        const std::uint32_t by_job = facts_.requested_layout().cpus_per_rank.value_or(0);
        const std::uint32_t asked = std::max(by_slurm, by_job);
        const std::uint32_t needed = rank.threads * cpus_per_core(rank);
        if (rank.mask_cpus < asked) {
            say(rank, "W-HWL-131",
                fmt::format("{} each, but the job asked for {} ({})", count_of(rank.mask_cpus, "CPU"), asked,
                            by_job > by_slurm ? "layout.cpus_per_rank" : "SLURM_CPUS_PER_TASK"),
                remedy_for_few(rank, asked, by_job > by_slurm, needed, ranks));
        } else if (!rank.has_own_cores && rank.quota_cpus != 0 && rank.quota_cpus < rank.allowed_cores) {
            say(rank, "W-HWL-133",
                fmt::format("the cgroup's CPU quota is worth {} of {}", rank.quota_cpus,
                            count_of(rank.allowed_cores, "core")),
                "raise the quota (cpu.max), or reserve cores");
        } else if (!rank.has_own_cores) {
            say(rank, "W-HWL-133", fmt::format("share {} (CPUs {})", count_of(rank.mask_cores, "core"), rank.mask),
                remedy_for_shared(rank, needed, ranks));
        } else if (rank.own_cores < rank.threads) {
            say(rank, "W-HWL-132",
                fmt::format("{} for {} that need one each", count_of(rank.own_cores, "core"),
                            count_of(rank.threads, "busy thread")),
                remedy_for_busy(rank, needed, ranks));
        }
    }

    /// Without task/cgroup or task/affinity a job may run anywhere, and each one's threads are bound from the node's
    /// first core on. Slurm counts cores or hardware threads: only where the masks hold more of both is that certain.
    void look_at_confinement(const RankList& ranks) {
        const auto cores = [](const RankFacts* rank) { return rank->mask_cores; };
        const RankFacts& widest = **std::ranges::max_element(ranks, {}, cores);
        const bool binds = facts_.wish.layout.bind == BindMode::gpu_local && widest.why_unbindable.empty();
        if (!binds || widest.job_cpus == 0 || widest.mask_cores <= widest.job_cpus) {
            return;
        }
        for (const RankFacts* rank : ranks) {
            say(*rank, "W-HWL-145",
                fmt::format("the job has {} of the node, but may run on {} (CPUs {}): its threads and those of other "
                            "jobs there are bound to the same ones",
                            count_of(widest.job_cpus, "CPU"), count_of(widest.mask_cores, "core"), widest.mask),
                Remedies::confinement());
        }
    }

    /// Host devices are cores: those in no rank's mask compute nothing.
    void look_at_unused(const RankList& ranks) {
        const RankFacts& first = *ranks.front();
        const bool by_launcher = facts_.launch.launcher != Launcher::none || facts_.launch.slurm_job;
        CpuSet used;
        for (const RankFacts* rank : ranks) {
            used |= cpus_in(rank->mask);
        }
        std::uint32_t given = cpus_in(first.allowed).size();
        const std::uint32_t cpus_of_a_core = std::max(1U, given / std::max(1U, first.allowed_cores));
        given = first.job_cpus == 0 ? given : std::min(given, first.job_cpus);
        given = first.quota_cpus == 0 ? given : std::min(given, first.quota_cpus * cpus_per_core(first));
        if (facts_.device == DeviceKind::host && by_launcher && used.size() * 2 <= given &&
            first.mask_cpus >= facts_.launch.cpus_per_task.value_or(0)) {
            const auto count = static_cast<std::uint32_t>(ranks.size());
            for (const RankFacts* rank : ranks) {
                say(*rank, "W-HWL-134",
                    fmt::format("the launcher's masks hold {} of the node's {} for the job", used.size(),
                                count_of(given, "CPU")),
                    facts_.launch.launcher == Launcher::mpirun
                        ? remedies_.no_mask()
                        : remedies_.cpus_per_rank(share_of(given, count, cpus_of_a_core), count));
            }
        }
    }

    const DoctorFacts& facts_;
    const Remedies& remedies_;
    Sayings sayings_;
};

}  // namespace

std::vector<Finding> diagnose_cores(const DoctorFacts& facts, const Remedies& remedies) {
    std::vector<Finding> findings = missing_instructions(facts);
    std::ranges::move(CoreDiagnosis(facts, remedies).take(), std::back_inserter(findings));
    return findings;
}

}  // namespace sluice
