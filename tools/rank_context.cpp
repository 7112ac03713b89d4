#include "tools/rank_context.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "apps/registry.hpp"
#include "comm/node_sharing.hpp"
#include "core/cgroup.hpp"
#include "core/cuda.hpp"
#include "core/memory_limit.hpp"

namespace sluice {
namespace {

/// What the ranks of a node tell each other.
struct NodeWord {
    NodeRank rank{};
    std::vector<CudaGpu> gpus{};
    bool reads = false;
};

std::string encode(const NodeWord& word) {
    nlohmann::json gpus = nlohmann::json::array();
    for (const CudaGpu& gpu : word.gpus) {
        gpus.push_back({gpu.uuid, gpu.pci, gpu.name, gpu.host_numa_node ? std::int64_t{*gpu.host_numa_node} : -1});
    }
    return nlohmann::json{
        {"mask", word.rank.mask.text()}, {"quota", word.rank.quota_cpus}, {"reads", word.reads}, {"gpus", gpus}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

NodeWord decode_node_word(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    NodeWord word{.reads = json.at("reads")};
    for (const nlohmann::json& gpu : json.at("gpus")) {
        word.gpus.push_back({.uuid = gpu.at(0), .pci = gpu.at(1), .name = gpu.at(2)});
        if (const std::int64_t node = gpu.at(3); node >= 0) {
            word.gpus.back().host_numa_node = static_cast<std::uint32_t>(node);
        }
    }
    const std::optional<CpuSet> mask = CpuSet::parse(json.at("mask").get<std::string>());
    expects(mask.has_value(), "a CPU mask in the kernel's list form");
    word.rank = {.mask = *mask, .quota_cpus = json.at("quota"), .gpus = visible_gpus(word.gpus)};
    return word;
}

/// The words of this node's ranks, in their order; `me` is this rank's place among them.
std::vector<NodeWord> exchange(MpiSession* session, const NodeWord& mine, std::size_t& me) {
    if (session == nullptr) {
        me = 0;
        return {mine};
    }
    me = static_cast<std::size_t>(session->node_rank());
    std::vector<NodeWord> words;
    for (const std::string& text : session->node_all_gather(encode(mine))) {
        words.push_back(decode_node_word(text));
    }
    return words;
}

void print_message(const ErrorText& text) {
    const std::string lines = render(text) + "\n";
    std::fwrite(lines.data(), 1, lines.size(), stderr);
    std::fflush(stderr);
}

}  // namespace

std::string RankContext::who() const {
    return session == nullptr ? std::string() : fmt::format("rank {} on {}", session->rank(), host);
}

std::uint64_t RankContext::memory_share() const {
    const int ranks = session == nullptr ? 1 : session->node_size();
    return read_memory_limit() / static_cast<std::uint64_t>(ranks);
}

std::vector<std::uint32_t> RankShare::devices() const {
    std::vector<std::uint32_t> numbers;
    for (const DevicePlace& device : place.devices) {
        numbers.push_back(device.number);
    }
    return numbers;
}

std::vector<CpuSet> RankShare::driver_cpus() const {
    std::vector<CpuSet> cpus;
    for (const DevicePlace& device : place.devices) {
        if (binds) {
            cpus.push_back(device.cpus);
        }
    }
    return cpus;
}

RankShare choose_share(RankContext& context, const JobPlan& plan) {
    const bool cuda = plan.device == DeviceKind::cuda;
    RankShare share{.machine = read_machine(cuda ? TopologyDetail::devices : TopologyDetail::cpus)};
    Topology& topology = share.machine.topology;
    share.binds = plan.bind == BindMode::gpu_local;
    if (plan.bind == BindMode::none) {
        warn_once(context, bind(share.machine, topology.allowed));
        topology.mask = topology.allowed;
    }
    NodeWord mine{.reads = context.rank() == 0};
    mine.gpus = cuda ? cuda_gpus() : std::vector<CudaGpu>();
    mine.rank = {.mask = topology.mask, .quota_cpus = read_quota_cpus(), .gpus = visible_gpus(mine.gpus)};
    RankLayout layout{.device = plan.device, .devices = plan.devices};
    std::size_t me = 0;
    for (const NodeWord& word : exchange(context.session, mine, me)) {
        layout.reader = word.reads ? layout.ranks.size() : layout.reader;
        layout.ranks.push_back(word.rank);
        add_cuda_gpus(topology, word.gpus);  // also those that this rank does not see: all ranks place alike
    }
    share.place = place(topology, layout).ranks[me];
    if (share.place.devices.empty()) {
        static_cast<void>(make_cuda_device(0));  // says what is missing
    }
    return share;
}

void bind_comm_thread(RankContext& context, RankShare& share) {
    if (share.binds) {
        warn_once(context, bind(share.machine, share.place.comm));
    }
}

StartingReaders::StartingReaders(RankContext& context, RankShare& share, std::uint32_t readers) {
    if (share.binds) {
        const bool fit = readers <= cores_in(share.machine.topology, share.place.readers);
        bound_.emplace(share.machine, fit ? share.place.readers : share.place.cpus);
        warn_once(context, bound_->finding());
    }
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

void warn_once(RankContext& context, const std::optional<ErrorText>& finding) {
    if (finding && context.board.claim_warning()) {
        ErrorText text = *finding;
        text.where = context.who();
        print_message(text);
    }
}

void print_once(RankContext& context, const ErrorText& text) {
    if (context.board.claim_message()) {
        print_message(text);
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
