#include "tools/rank_context.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

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

std::uint32_t choose_device_count(const RankContext& context, const JobPlan& plan) {
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
    if (plan.devices) {
        return *plan.devices;
    }
    if (plan.device == DeviceKind::cuda) {
        const std::uint32_t gpus = cuda_device_count();
        const auto ranks = static_cast<std::uint32_t>(node.size());
        return std::max(1U, gpus / ranks + (me < gpus % ranks ? 1U : 0U));
    }
    return host_devices_of(node, me);
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
