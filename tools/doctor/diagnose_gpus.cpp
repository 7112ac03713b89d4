#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "core/error.hpp"
#include "core/machine/cpu_set.hpp"
#include "core/machine/topology.hpp"
#include "core/text/wording.hpp"
#include "tools/doctor/topics.hpp"

namespace sluice {
namespace {

std::string name_of(const GpuFacts& gpu) {
    return fmt::format("GPU {}", gpu.pci.empty() ? gpu.id : std::string(short_pci(gpu.pci)));
}

/// The slower direction of copies with pinned memory; 0: not measured.
double pinned_speed(const GpuFacts& gpu) {
    return std::min(gpu.copies.pinned_up, gpu.copies.pinned_down);
}

class GpuDiagnosis {
public:
    GpuDiagnosis(const DoctorFacts& facts, const Remedies& remedies) : facts_(facts), remedies_(remedies) {}

    std::vector<Finding> take() {
        if (facts_.device != DeviceKind::cuda) {
            look_at_unused_machine();
            return std::move(findings_);
        }
        look_at_wish();
        for (const auto& [node, ranks] : by_node(facts_.ranks)) {
            look_at_number(ranks);
            look_at_sharing(ranks);
            look_at_distance(ranks);
        }
        std::ranges::move(sayings_.take(), std::back_inserter(findings_));
        look_at_models();
        look_at_copies();
        return std::move(findings_);
    }

private:
    void warn(const char* id, std::string what, std::string remedy) {
        findings_.push_back(warning(id, std::move(what), std::move(remedy)));
    }

    static std::set<std::string> seen_on(const RankList& ranks) {
        std::set<std::string> seen;
        for (const RankFacts* rank : ranks) {
            seen.insert(rank->seen.begin(), rank->seen.end());
        }
        return seen;
    }

    /// The run uses the host although there are GPUs.
    void look_at_unused_machine() {
        if (facts_.wish.device != DeviceKind::automatic) {
            return;
        }
        const RankList ranks = ranks_where(facts_, [](const RankFacts& rank) { return rank.machine_gpus > 0; });
        if (!ranks.empty()) {
            const RankFacts& first = *ranks.front();
            const bool without_cuda = first.why_no_cuda == "built without CUDA";
            warn("W-GPU-135",
                 fmt::format("{}: {} on the bus of a node, but a run computes on the host: {}", who(ranks),
                             count_of(first.machine_gpus, "GPU"),
                             first.why_no_cuda.empty() ? "rank 0 sees none" : first.why_no_cuda),
                 without_cuda ? "build with the preset 'cuda'" : remedies_.gpus_per_node(first.machine_gpus));
        }
    }

    void look_at_wish() {
        const std::uint32_t wanted = facts_.wish.devices.value_or(0);
        const RankList too_few = ranks_where(
            facts_, [&](const RankFacts& rank) { return rank.failure.id.empty() && rank.seen.size() < wanted; });
        if (!too_few.empty()) {
            findings_.push_back(error("E-GPU-062", ExitCode::configuration,
                                      fmt::format("{}: sees {}, but run.devices = {}", who(too_few),
                                                  count_of(too_few.front()->seen.size(), "GPU"), wanted),
                                      remedies_.gpus_per_node(wanted)));
        }
    }

    void look_at_number(const RankList& ranks) {
        const std::size_t gpus = seen_on(ranks).size();
        const std::uint32_t asked = facts_.requested_layout().gpus_per_node;
        for (const RankFacts* rank : ranks) {
            if (gpus < asked) {
                sayings_.say(
                    *rank, "W-SLM-144",
                    fmt::format("{} visible on a node, but layout.gpus_per_node = {}", count_of(gpus, "GPU"), asked),
                    remedies_.gpus_per_node(asked));
            }
        }
    }

    void look_at_sharing(const RankList& ranks) {
        std::map<std::string, RankList> drivers;
        std::map<std::string, std::string> names;
        for (const RankFacts* rank : ranks) {
            for (const std::string& id : rank->seen) {
                drivers[id];
                names.try_emplace(id, id);
            }
            for (const GpuFacts& gpu : rank->gpus) {
                drivers[gpu.id].push_back(rank);
                names[gpu.id] = name_of(gpu);
            }
        }
        const auto gpus = static_cast<std::uint32_t>(drivers.size());
        std::vector<std::string> idle;
        std::vector<std::string> shared;
        std::set<const RankFacts*> sharers;  // in rank order: they are elements of one array
        for (const auto& [id, users] : drivers) {
            if (users.empty()) {
                idle.push_back(names[id]);
            } else if (users.size() > 1) {
                shared.push_back(names[id]);
                sharers.insert(users.begin(), users.end());
            }
        }
        for (const RankFacts* rank : sharers) {
            sayings_.say(*rank, "W-GPU-136", fmt::format("share {}", fmt::join(shared, ", ")),
                         remedies_.ranks_per_node(gpus));
        }
        for (const RankFacts* rank : ranks) {
            if (!idle.empty() && !facts_.wish.devices) {  // otherwise the job requests exactly that many
                sayings_.say(*rank, "W-GPU-137", fmt::format("none drives {}", fmt::join(idle, ", ")),
                             remedies_.ranks_per_node(gpus));
            }
        }
    }

    void look_at_distance(const RankList& ranks) {
        const std::set<std::string> of_node = seen_on(ranks);
        for (const RankFacts* rank : ranks) {
            for (const GpuFacts& gpu : rank->gpus) {
                if (!gpu.is_near) {
                    sayings_.say(*rank, "W-GPU-138",
                                 fmt::format("{} is attached to CPUs {}, but its driver runs on CPUs {}", name_of(gpu),
                                             gpu.near, gpu.driver),
                                 nearer(*rank, gpu, static_cast<std::uint32_t>(of_node.size())));
                }
            }
        }
    }

    [[nodiscard]] std::string nearer(const RankFacts& rank, const GpuFacts& gpu, std::uint32_t gpus_of_node) const {
        if (rank.seen.size() < gpus_of_node) {
            return remedies_.no_gpu_binding(gpus_of_node);
        }
        const CpuSet near = CpuSet::parse(gpu.near).value_or(CpuSet());
        const CpuSet allowed = CpuSet::parse(rank.allowed).value_or(CpuSet());
        return near.meets(allowed) ? remedies_.no_mask() : remedies_.whole_node();
    }

    void look_at_models() {
        std::map<std::string, RankList> models;
        for (const RankFacts& rank : facts_.ranks) {
            for (const GpuFacts& gpu : rank.gpus) {
                RankList& ranks = models[gpu.name];
                if (ranks.empty() || ranks.back() != &rank) {
                    ranks.push_back(&rank);
                }
            }
        }
        if (models.size() > 1) {
            std::vector<std::string> all;
            all.reserve(models.size());
            for (const auto& [name, ranks] : models) {
                all.push_back(fmt::format("{} ({})", name.empty() ? "an unknown model" : name, who(ranks)));
            }
            warn("W-GPU-064", fmt::format("GPUs of several models: {}", fmt::join(all, ", ")),
                 remedies_.gpus_of_one_model());
        }
    }

    void look_at_copies() {
        std::vector<double> speeds;
        for (const RankFacts& rank : facts_.ranks) {
            for (const GpuFacts& gpu : rank.gpus) {
                if (pinned_speed(gpu) > 0) {
                    speeds.push_back(pinned_speed(gpu));
                }
            }
        }
        if (speeds.size() < 2) {
            return;
        }
        std::ranges::sort(speeds);
        const double usual = speeds[speeds.size() / 2];
        for (const RankFacts& rank : facts_.ranks) {
            for (const GpuFacts& gpu : rank.gpus) {
                if (pinned_speed(gpu) > 0 && pinned_speed(gpu) < usual / 2) {
                    const std::vector<std::string> host{rank.host};
                    warn("W-GPU-139",
                         fmt::format("{}: {} copies {:.1f} GB/s, the usual GPU of this job {:.1f}", who({&rank}),
                                     name_of(gpu), pinned_speed(gpu) / giga, usual / giga),
                         remedies_.exclude(host));
                }
            }
        }
    }

    const DoctorFacts& facts_;
    const Remedies& remedies_;
    Sayings sayings_;
    std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> diagnose_gpus(const DoctorFacts& facts, const Remedies& remedies) {
    return GpuDiagnosis(facts, remedies).take();
}

}  // namespace sluice
