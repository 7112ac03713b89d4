#include "tools/rank_context.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "apps/registry.hpp"
#include "comm/node_sharing.hpp"
#include "core/cuda.hpp"
#include "core/machine.hpp"
#include "core/memory_limit.hpp"

namespace sluice {
namespace {

/// "cores mask": what the ranks of a node tell each other.
std::string encode(const UsableCpus& cpus) {
    return fmt::format("{} {}", cpus.cores, cpus.mask);
}

UsableCpus decode(const std::string& text) {
    const std::size_t space = text.find(' ');
    return {.mask = text.substr(space + 1), .cores = static_cast<std::uint32_t>(std::stoul(text.substr(0, space)))};
}

}  // namespace

std::string RankContext::who() const {
    return session == nullptr ? std::string() : fmt::format("rank {} on {}", session->rank(), host);
}

std::uint64_t RankContext::memory_share() const {
    const int ranks = session == nullptr ? 1 : session->node_size();
    return read_memory_limit() / static_cast<std::uint64_t>(ranks);
}

RankShare choose_share(const RankContext& context, const JobPlan& plan) {
    const UsableCpus mine = read_usable_cpus();
    std::vector<UsableCpus> node{mine};
    std::size_t me = 0;
    if (context.session != nullptr) {
        node.clear();
        for (const std::string& text : context.session->node_all_gather(encode(mine))) {
            node.push_back(decode(text));
        }
        me = static_cast<std::size_t>(context.session->node_rank());
    }
    RankShare share;
    share.cores = host_devices_of(node, me);
    if (plan.devices) {
        share.devices = *plan.devices;
    } else if (plan.device == DeviceKind::cuda) {
        const std::uint32_t gpus = cuda_device_count();
        const auto ranks = static_cast<std::uint32_t>(node.size());
        share.devices = std::max(1U, gpus / ranks + (me < gpus % ranks ? 1U : 0U));
    } else {
        share.devices = share.cores;
    }
    return share;
}

std::unique_ptr<LoadedApp> load_app(RankContext& context, const JobPlan& plan, const WeightBlob& weights,
                                    std::uint32_t cores) {
    const App& app = *find_app(plan.app);
    if (context.session == nullptr) {
        return load_alone(app, weights, plan.options, plan.device, cores);
    }
    std::unique_ptr<LoadedApp> loaded = app.load(weights, plan.options, plan.device);
    if (PackedWeights* const packed = loaded->weights(); packed != nullptr) {
        pack_once_a_node(*context.session, *packed, cores);
    }
    return loaded;
}

void print_once(RankContext& context, const ErrorText& text) {
    if (context.board.claim_message()) {
        const std::string lines = render(text) + "\n";
        std::fwrite(lines.data(), 1, lines.size(), stderr);
        std::fflush(stderr);
    }
}

void end_now(RankContext& context, ExitCode code) {
    context.board.remove_scratch();
    context.board.mine().ended.store(1);
    if (context.session != nullptr) {
        context.session->abort(code);
    }
    std::_Exit(static_cast<int>(code));
}

}  // namespace sluice
