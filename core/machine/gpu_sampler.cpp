#include "core/machine/gpu_sampler.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/sync/stopped_before.hpp"
#include "core/trace/thread_usage.hpp"

namespace sluice {
namespace {

struct Sampled {
    Nvml::Gpu gpu;
    GpuUseBuilder use;
};

std::vector<Sampled> find_all(Nvml& nvml, const std::vector<std::string>& names, std::string& note) {
    std::vector<Sampled> found;
    for (const std::string& name : names) {
        if (Nvml::Gpu const gpu = nvml.find(name)) {
            found.push_back({gpu, GpuUseBuilder(name)});
        } else {
            note = nvml.problem();
        }
    }
    return found;
}

/// An instance (MIG) is measured by its whole GPU.
std::string name_to_sample(const VisibleGpu& gpu) {
    return is_instance(gpu) ? gpu.pci : gpu.id;
}

std::vector<std::string> driven_by(const RankLayout& layout, const Placement& placement, std::size_t rank) {
    std::vector<std::string> names;
    for (const DevicePlace& device : placement.ranks[rank].devices) {
        names.push_back(name_to_sample(layout.ranks[rank].gpus[device.number]));
    }
    return names;
}

}  // namespace

std::vector<std::string> gpus_to_sample(const RankLayout& layout, const Placement& placement, std::size_t me) {
    std::vector<std::string> taken;
    for (std::size_t rank = 0; rank < me; ++rank) {
        std::ranges::move(driven_by(layout, placement, rank), std::back_inserter(taken));
    }
    std::vector<std::string> mine;
    for (std::string& name : driven_by(layout, placement, me)) {
        if (std::ranges::find(taken, name) == taken.end()) {
            taken.push_back(name);
            mine.push_back(std::move(name));
        }
    }
    return mine;
}

GpuSampler::GpuSampler(GpuSampling sampling) : sampling_(std::move(sampling)) {
    if (!sampling_.gpus.empty()) {
        thread_ = std::jthread([this](const std::stop_token& stop) { sample(stop); });
    }
}

GpuUses GpuSampler::finish() {
    thread_ = {};
    return std::move(uses_);
}

void GpuSampler::sample(const std::stop_token& stop) {
    name_this_thread("GPU sampler");
    Nvml nvml(sampling_.library);
    std::vector<Sampled> all = find_all(nvml, sampling_.gpus, uses_.note);
    for (Sampled& one : all) {
        one.use.mark(nvml.read(one.gpu), Clock::now());
    }
    bool sampled = false;
    while (!all.empty() && !stopped_before(stop, Clock::now() + sampling_.period)) {
        for (Sampled& one : all) {
            one.use.add(nvml.read(one.gpu), Clock::now());
        }
        sampled = true;
    }
    for (Sampled& one : all) {
        const GpuReading last = nvml.read(one.gpu);
        if (sampled) {
            one.use.mark(last, Clock::now());
        } else {  // a run of less than a period
            one.use.add(last, Clock::now());
        }
        uses_.gpus.push_back(one.use.use());
    }
}

}  // namespace sluice
