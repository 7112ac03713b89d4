#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/text/wording.hpp"
#include "scheduler/resources.hpp"
#include "scheduler/verdict.hpp"

namespace sluice {
namespace {

/// A setting of the run's job, as its identity has it; empty: the job has none of this name.
std::string_view setting_of(const RunReport& run, std::string_view name) {
    for (const auto& [setting, value] : run.provenance.identity) {
        if (setting == name) {
            return value;
        }
    }
    return {};
}

std::string advice(const Verdict& verdict, const RunReport& run) {
    const std::string_view input = setting_of(run, "input.format");
    const bool has_scores = setting_of(run, "output.scores") == "true";
    switch (*verdict.binding) {
        case Stage::read:
            return input == "u8" ? "a faster file system helps"
                                 : "a faster file system helps, or a more compact input (.u8, uint8 .npy)";
        case Stage::parse:
            return input == "u8" || input == "npy"
                       ? "more cores for rank 0 help"
                       : "an input that needs no parsing helps (.u8, .npy), or more cores for rank 0";
        case Stage::scatter:
            return verdict.resource == &resource_kinds::copies
                       ? "more devices help: each one's driver copies its own items from rank 0's memory"
                       : "a faster network out of rank 0's node helps";  // items are packed alike, whatever the input
        case Stage::upload:
            return "devices with links of their own help, or ranks bound near their devices";
        case Stage::compute:
            if (run.device == DeviceKind::host) {
                return run.precision == Precision::fp32
                           ? "more nodes or cores help, or GPUs, or bf16 where CPUs have AMX"
                           : "more nodes or cores help, or GPUs";
            }
            return run.precision == Precision::bf16 || run.precision == Precision::fp16 ||
                           run.precision == Precision::fp8
                       ? "more devices help"
                       : "more devices help, or a lower precision";
        case Stage::download:
            return has_scores ? "a smaller output helps (output.scores = false), or devices with links of their own"
                              : "devices with links of their own help";
        case Stage::gather:
            return has_scores ? "a smaller output helps (output.scores = false), or a faster network into rank 0's node"
                              : "a faster network into rank 0's node helps";
        case Stage::write:
            if (run.encoders.used < run.encoders.useful) {
                return fmt::format(
                    "more cores for rank 0 help: it makes rows on {}, and {} would be useful (srun --cpus-per-task, "
                    "mpirun --map-by ppr:N:node:pe=CORES)",
                    run.encoders.used == 1 ? std::string("one") : fmt::format("{}", run.encoders.used),
                    run.encoders.useful);
            }
            if (const bool is_text = setting_of(run, "output.format") != ".npy"; is_text || has_scores) {
                return fmt::format("a more compact output helps ({}{}{}), or a faster file system",
                                   is_text ? ".npy" : "", is_text && has_scores ? ", " : "",
                                   has_scores ? "output.scores = false" : "");
            }
            return "a faster file system helps";
        case Stage::commit:
            return "a file system that syncs faster helps, as a node's own disk may";
    }
    return {};
}

void note_idle_devices(Verdict& verdict, const RunReport& run) {
    std::size_t idle = 0;
    for (const RankReport& rank : run.ranks) {
        idle += static_cast<std::size_t>(
            std::ranges::count_if(rank.device_chunks, [](const auto& chunks) { return chunks.empty(); }));
    }
    if (idle > 0) {
        const bool has_items_for_more = run.chunk_items > 1 && run.items_done > run.devices() - idle;
        verdict.notes.push_back(fmt::format("NOTE: {} of {} devices had no chunk; {}", idle, run.devices(),
                                            has_items_for_more
                                                ? "a smaller pipeline.chunk_items, or fewer devices, suits this job"
                                                : "fewer devices suit this job"));
    }
}

/// Why no resource comes close to its capacity, and what may help, unless already set.
std::string reason_for_nothing(const Verdict& verdict, const RunReport& run, std::uint64_t chunks) {
    constexpr double long_wait = 0.1;  // of the run
    const WallView& root = run.ranks.front().breakdown.wall;
    const double index = Seconds(root.phases[static_cast<std::size_t>(Phase::index)]).count();
    if (index > long_wait * Seconds(root.total()).count()) {
        return fmt::format(
            "for {} everything waited for the input's index, which takes as long as reading the file: a "
            "faster file system helps, or more cores for rank 0",
            time_text(index));
    }
    if (run.mode == PipelineMode::serial) {
        return "pipeline.mode = \"serial\" lets one stage wait for the other; \"overlap\" does not";
    }
    if (chunks < 8 * run.devices()) {
        return fmt::format("{} for {} {} too few to keep {} busy{}", count_of(chunks, "chunk"),
                           count_of(run.devices(), "device"), chunks == 1 ? "is" : "are",
                           run.devices() == 1 ? "it" : "them",
                           run.chunk_items > 1 ? "; a smaller pipeline.chunk_items helps"
                           : run.devices() > 1 ? "; fewer devices suit this job"
                                               : "");
    }
    if (!verdict.contended.empty() || verdict.throttled) {
        return {};
    }
    return fmt::format("stages wait for each other; a pipeline.depth above {} may help", run.depth);
}

void note_lack_of_cpu(Verdict& verdict) {
    for (const Contention& contention : verdict.contended) {
        verdict.notes.push_back(fmt::format(
            "NOTE: the threads of {} waited {:.0f} % of their time for a CPU: other work on the host, a CPU quota, or "
            "more threads than cores; more devices on these hosts do not help",
            to_string(contention.stage), 100 * contention.share));
    }
    if (verdict.throttled) {
        const CpuThrottling& lost = verdict.throttled->by_quota;
        verdict.notes.push_back(
            fmt::format("NOTE: the CPU quota of rank {}'s cgroup on {} was used up in {} of {} periods, and its CPUs "
                        "stood still for "
                        "{} in all: a larger quota helps (Slurm's --cpus-per-task), more devices under this one do not",
                        verdict.throttled->rank, verdict.throttled->host, lost.throttled, lost.periods,
                        time_text(Seconds(lost.time).count())));
    }
}

/// Of what shortens the tail, what is not set already.
void note_tail(Verdict& verdict, const RunReport& run) {
    constexpr double more_than_one = 1.5;  // chunks
    if (!verdict.tail) {
        return;
    }
    const Tail& tail = *verdict.tail;
    std::vector<std::string> helps;
    if (run.distribution == Distribution::fixed) {
        helps.emplace_back("pipeline.distribution = \"pull\"");
    } else if (run.chunk_items > 1) {
        helps.emplace_back("a smaller pipeline.chunk_items");
    }
    if (run.distribution == Distribution::pull && run.depth > 1 && tail.time > more_than_one * tail.chunk) {
        helps.emplace_back("a smaller pipeline.depth");
    }
    if (tail.is_in_the_way) {
        helps.emplace_back("a run without that device");
    }
    verdict.notes.push_back(fmt::format(
        "NOTE: tail: at the end {} of {} devices waited, up to {}, for {} on rank {}; all done at once would save {}{}",
        tail.waiting, run.devices(), time_text(tail.time), tail.name, tail.rank, time_text(tail.cost),
        helps.empty() ? "" : fmt::format(": {} may help", fmt::join(helps, ", or "))));
}

void note_suspension(Verdict& verdict, const RunReport& run) {
    const auto suspended = [](const RankReport& rank) { return rank.breakdown.wall.suspended; };
    const auto longest = std::ranges::max_element(run.ranks, {}, suspended);
    const auto ranks = std::ranges::count_if(
        run.ranks, [](auto time) { return time.count() > 0; }, suspended);
    if (ranks == 0) {
        return;
    }
    verdict.notes.push_back(fmt::format(
        "NOTE: {} suspended for {}{} (SIGSTOP, scontrol suspend), which the run's time includes, but no stage's",
        ranks == 1 ? fmt::format("rank {} was", longest->rank)
                   : fmt::format("{} of {} ranks were", ranks, run.ranks.size()),
        ranks == 1 ? "" : "up to ", time_text(Seconds(suspended(*longest)).count())));
}

}  // namespace

bool lacks_cpu(const Verdict& verdict, Stage stage, DeviceKind device) {
    const bool is_gpus = device == DeviceKind::cuda && is_of_devices(stage);
    return (verdict.throttled && !is_gpus) ||
           std::ranges::find(verdict.contended, stage, &Contention::stage) != verdict.contended.end();
}

void add_notes(Verdict& verdict, const RunReport& run) {
    const std::uint64_t chunks = (run.items_done + run.chunk_items - 1) / run.chunk_items;
    note_suspension(verdict, run);
    note_lack_of_cpu(verdict);
    for (const GpuLimited& limited : verdict.gpu_limits) {
        verdict.notes.push_back("NOTE: " + text_of(limited, run.ranks));
    }
    for (const Straggler& straggler : verdict.stragglers) {
        verdict.notes.push_back(
            fmt::format("NOTE: straggler: {} on rank {} computes {} items/s, {} {}{}", straggler.name, straggler.rank,
                        rate_text(straggler.rate), run.devices() == 2 ? "the other one" : "the median is",
                        rate_text(straggler.usual),
                        straggler.cost > 0 ? fmt::format("; that costs {}", time_text(straggler.cost)) : ""));
    }
    if (!verdict.stragglers.empty() && run.distribution == Distribution::fixed && !verdict.tail) {
        verdict.notes.push_back("NOTE: pipeline.distribution = \"pull\" gives slow devices fewer chunks");
    }
    note_idle_devices(verdict, run);
    note_tail(verdict, run);
    if (verdict.bound == Bound::stage && !lacks_cpu(verdict, *verdict.binding, run.device)) {
        verdict.notes.push_back(fmt::format("NOTE: {}", advice(verdict, run)));
    } else if (verdict.bound == Bound::startup) {
        verdict.notes.push_back("NOTE: more items in one run make start-up matter less; more devices do not");
    } else if (verdict.bound == Bound::nothing) {
        if (const std::string reason = reason_for_nothing(verdict, run, chunks); !reason.empty()) {
            verdict.notes.push_back("NOTE: " + reason);
        }
    }
}

}  // namespace sluice
