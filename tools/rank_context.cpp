#include "tools/rank_context.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "apps/registry.hpp"
#include "comm/node_sharing.hpp"
#include "core/cuda.hpp"
#include "core/gpu_share.hpp"
#include "core/machine.hpp"
#include "core/memory_limit.hpp"

namespace sluice {
namespace {

/// What the ranks of a node have, and tell each other.
struct NodeRanks {
    std::vector<UsableCpus> cpus;
    std::vector<std::vector<std::string>> gpus;
    std::size_t me = 0;
};

NodeRanks ranks_of_node(MpiSession* session, bool with_gpus) {
    const UsableCpus cpus = read_usable_cpus();
    const std::vector<std::string> gpus = with_gpus ? cuda_device_ids() : std::vector<std::string>();
    if (session == nullptr) {
        return {{cpus}, {gpus}, 0};
    }
    NodeRanks ranks{.cpus = {}, .gpus = {}, .me = static_cast<std::size_t>(session->node_rank())};
    const nlohmann::json mine{{"cores", cpus.cores}, {"mask", cpus.mask}, {"gpus", gpus}};
    for (const std::string& text : session->node_all_gather(mine.dump())) {
        const nlohmann::json rank = nlohmann::json::parse(text);
        ranks.cpus.push_back({.mask = rank.at("mask"), .cores = rank.at("cores")});
        ranks.gpus.push_back(rank.at("gpus"));
    }
    return ranks;
}

std::vector<std::uint32_t> counted_to(std::uint32_t count) {
    std::vector<std::uint32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0U);
    return numbers;
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
    const bool cuda = plan.device == DeviceKind::cuda;
    const NodeRanks node = ranks_of_node(context.session, cuda);
    RankShare share;
    share.cores = host_devices_of(node.cpus, node.me);
    share.devices = cuda ? gpus_of(node.gpus, node.me, plan.devices) : counted_to(plan.devices.value_or(share.cores));
    if (share.devices.empty()) {
        static_cast<void>(make_cuda_device(0));  // says what is missing
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
