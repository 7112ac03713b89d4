#include "tools/runtime/prepare_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include "comm/message_pieces.hpp"
#include "comm/node_sharing.hpp"
#include "comm/node_view.hpp"
#include "core/device/cuda.hpp"
#include "core/input/item_source.hpp"
#include "core/input/read_ahead.hpp"
#include "core/machine/cgroup.hpp"
#include "core/process/standard_error.hpp"
#include "core/text/wording.hpp"
#include "scheduler/chunk_size.hpp"
#include "scheduler/memory_plan.hpp"
#include "tools/runtime/preflight.hpp"

namespace sluice {
namespace {

constexpr const char* packed_weights = "packed for the devices";  // where they do not fit

/// A host device without a chunk would still create buffers and threads.
std::optional<std::uint32_t> useful_devices(const JobPlan& plan) {
    if (!plan.devices || plan.device != DeviceKind::host) {
        return plan.devices;
    }
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(plan.grid().chunks_left(), 1, std::max<std::uint32_t>(1, *plan.devices)));
}

void warn_of_fewer_devices(const RankContext& context, const JobPlan& plan, const RankShare& share) {
    const std::size_t devices = share.place.devices.size();
    const bool has_work = plan.grid().chunks_left() != 0;
    if (context.rank() == 0 && has_work && devices < plan.devices.value_or(0)) {
        say(ErrorText{.id = "W-RUN-151",
                      .where = context.who(),
                      .what = fmt::format("drives {}, not run.devices = {}: {} to do, and {} on the node",
                                          count_of(devices, "host device"), *plan.devices,
                                          count_of(plan.grid().chunks_left(), "chunk"),
                                          count_of(share.machine.topology.cores.size(), "core")),
                      .hint = "lower run.devices, or leave it out"});
    }
}

/// With BindMode::none the calling thread drops the launcher's CPU mask.
RankShare choose_share(const RankContext& context, const JobPlan& plan, GpuStart& gpus) {
    const bool are_shared = plan.device == DeviceKind::cuda && gpus.node;
    NodeView node = are_shared ? std::move(*gpus.node)
                               : view_node(context.session, {.device = plan.device,
                                                             .devices = useful_devices(plan),
                                                             .bind = plan.bind,
                                                             .reads = context.rank() == 0});
    warn_once(context, node.finding);
    warn_of_places(context, node, plan);
    RankShare share{.machine = std::move(node.machine),
                    .place = node.placement.ranks[node.me],
                    .binds = plan.bind == BindMode::gpu_local};
    if (plan.device == DeviceKind::cuda) {
        share.sampled_gpus = gpus_to_sample(node.layout, node.placement, node.me);
    }
    if (are_shared) {
        for (std::size_t i = 0; i < gpus.numbers.size(); ++i) {
            share.place.devices[i].number = gpus.numbers[i];
        }
        share.gpus = std::move(gpus.uuids);
    }
    if (share.place.devices.empty()) {
        static_cast<void>(make_cuda_device(0));  // throws the reason
    }
    warn_of_fewer_devices(context, plan, share);
    return share;
}

/// CUDA's start, which may have begun earlier.
std::unique_ptr<DriverStart> start_of(const RankPlace& place, DeviceKind device, std::unique_ptr<DriverStart> begun) {
    if (device != DeviceKind::cuda || begun != nullptr) {
        return begun;
    }
    std::vector<std::uint32_t> numbers;
    std::ranges::transform(place.devices, std::back_inserter(numbers), &DevicePlace::number);
    return std::make_unique<DriverStart>(std::move(numbers));
}

/// The devices of every rank, in rank order.
std::vector<std::uint32_t> devices_of_ranks(const RankContext& context, std::size_t mine) {
    if (context.session == nullptr) {
        return {static_cast<std::uint32_t>(mine)};
    }
    std::vector<std::uint32_t> devices;
    for (const int count : context.session->all_gather(static_cast<int>(mine))) {
        devices.push_back(static_cast<std::uint32_t>(count));
    }
    return devices;
}

QueueSizes queues_for(const JobPlan& plan, const PreparedRank& rank) {
    const std::uint64_t slots = std::uint64_t{rank.total_devices()} * rank.wire.depth;
    QueueSizes sizes = choose_queue_sizes(rank.wire.item, plan.chunk_items, slots, plan.grid().chunks_left());
    if (plan.depth_by == DepthBy::serial_mode) {  // a device's next chunk waits for its previous one to be written
        sizes.window = static_cast<std::uint32_t>(std::min<std::uint64_t>(sizes.window, slots));
    }
    return sizes;
}

MemoryNeeds memory_needs(const JobPlan& plan, const PreparedRank& rank) {
    const PackedWeights* const weights = rank.app->weights();
    return {.shape = rank.wire.item,
            .chunk_items = plan.chunk_items,
            .depth = rank.wire.depth,
            .devices = rank.endpoints.size(),
            .work_bytes = rank.app->least_room(plan.chunk_items),
            .weight_bytes = weights == nullptr ? 0 : weights->bytes(),
            .staged_chunks = rank.queues ? rank.queues->staged : 0,
            .window_chunks = rank.queues ? rank.queues->window : 0};
}

/// Loads the app, ready to create models.
std::unique_ptr<LoadedApp> load_app(const RankContext& context, const JobPlan& plan, const OpenApp& app,
                                    WeightBlob weights, std::uint32_t cores) {
    if (context.session != nullptr) {
        broadcast_once_per_node(*context.session, weights.memory);
    }
    if (plan.device == DeviceKind::host) {
        limit_host_instructions(plan.instructions);
    }
    std::unique_ptr<LoadedApp> loaded = app.load(weights, plan.precision, plan.device);
    if (context.session == nullptr) {
        pack_alone(*loaded, cores);
    } else if (PackedWeights* const packed = loaded->weights(); packed != nullptr) {
        if (context.session->node_rank() == 0) {
            check_weights_fit(packed->bytes(), packed_weights);
        }
        pack_once_per_node(*context.session, *packed, cores);
    }
    return loaded;
}

/// Sample for the models of all ranks, read from `source` on rank 0.
std::string share_sample(const RankContext& context, const LoadedApp& app, const IoShape& shape,
                         const ItemSource* source) {
    std::string sample;
    if (app.sample_items() != 0) {
        if (source != nullptr) {
            sample = read_sample(*source, source->count(), app.sample_items(), shape.input_bytes);
        }
        if (context.session != nullptr) {
            context.session->broadcast(sample);
        }
    }
    return sample;
}

/// Memory for rank 0's readers, mapped by the ranks of its node if the job wants that and they can.
void share_staging(const RankContext& context, const JobPlan& plan, PreparedRank& rank) {
    if (context.session == nullptr || plan.scatter == Scatter::messages) {
        return;
    }
    MpiSession& session = *context.session;
    if (session.rank() == 0 && session.node_size() > 1) {
        rank.staging =
            NodeMemory::for_node(staged_bytes(rank.queues->staged, plan.chunk_items, rank.wire.item.input_bytes));
    }
    rank.shared.ranks = share_on_root_node(session, rank.staging);
    if (session.rank() == 0 && session.node_size() > 1 && !rank.shared.ranks[0]) {
        rank.staging = NodeMemory();
        say(ErrorText{.id = "W-MPI-183",
                      .where = context.who(),
                      .what = "other ranks of this node cannot map its memory: their items are sent as messages",
                      .hint =
                          "start a node's ranks in one container, raise the limit of file sizes (ulimit -f), or set "
                          "pipeline.scatter = \"messages\""});
    }
    rank.shared.memory = rank.staging.bytes();
}

std::deque<Endpoint> make_endpoints(std::size_t devices, std::uint32_t depth, Doorbell& bell) {
    std::deque<Endpoint> endpoints;
    while (endpoints.size() < devices) {
        endpoints.emplace_back(depth, bell);
    }
    return endpoints;
}

}  // namespace

void pack_alone(LoadedApp& app, std::uint32_t threads, std::uint64_t available) {
    if (PackedWeights* const packed = app.weights(); packed != nullptr) {
        check_weights_fit(packed->bytes(), packed_weights, available);
        packed->pack(NodeMemory::of_process(packed->bytes()), {}, threads);
    }
}

std::uint32_t PreparedRank::total_devices() const {
    return std::accumulate(devices.begin(), devices.end(), 0U);
}

PreparedRank prepare_rank(const RankContext& context, const JobPlan& plan, const Meeting& meeting, GpuStart gpus,
                          WeightBlob weights, const ItemSource* source) {
    context.hangs.begin({.timeout = plan.hang_timeout,
                         .hosts = context.rank() == 0 ? meeting.hosts : std::vector{plan.root_host},
                         .dump_folder = plan.dump_folder});
    if (context.session != nullptr) {
        context.session->set_patience(plan.hang_timeout);
    }
    const std::unique_ptr<OpenApp> app = open_app(plan, context.apps);
    PhaseTimer placing(context.phases, Phase::place);
    RankShare share = choose_share(context, plan, gpus);
    auto driver_start = start_of(share.place, plan.device, std::move(gpus.driver));
    std::vector<std::uint32_t> devices = devices_of_ranks(context, share.place.devices.size());
    placing.stop();
    const PhaseTimer loading(context.phases, Phase::load);
    auto loaded = load_app(context, plan, *app, std::move(weights), share.place.cores);
    std::string sample = share_sample(context, *loaded, app->shape(), source);
    const MessageShape wire{.item = app->shape(),
                            .chunk_items = plan.chunk_items,
                            .depth = depth_with_lag(plan.depth, plan.depth_by, loaded->lag()),
                            .largest_message = largest_message};
    std::deque<Endpoint> endpoints = make_endpoints(share.place.devices.size(), wire.depth, context.bell);
    auto gpu_sampler = std::make_unique<GpuSampler>(GpuSampling{.gpus = share.sampled_gpus});
    PreparedRank rank{.share = std::move(share),
                      .devices = std::move(devices),
                      .driver_start = std::move(driver_start),
                      .gpu_sampler = std::move(gpu_sampler),
                      .app = std::move(loaded),
                      .sample = std::move(sample),
                      .wire = wire,
                      .endpoints = std::move(endpoints),
                      .host_bytes = context.memory_share()};
    if (context.rank() == 0) {
        rank.queues = queues_for(plan, rank);
        check_memory(plan, rank);  // before the readers' part of it is reserved
    }
    share_staging(context, plan, rank);
    return rank;
}

void check_memory(const JobPlan& plan, const PreparedRank& rank) {
    check_memory(plan_memory(memory_needs(plan, rank)), plan.device, rank.host_bytes);
}

DriverTeamOptions driver_options(const RankContext& context, const JobPlan& plan, PreparedRank& rank) {
    return {.device = plan.device,
            .places = rank.share.place.devices,
            .gpus = rank.share.gpus,
            .pipeline = {.depth = rank.wire.depth,
                         .chunk_items = plan.chunk_items,
                         .last_items = plan.grid().short_items(),
                         .activities = &context.activities},
            .memory = memory_needs(plan, rank),
            .host_bytes = rank.host_bytes,
            .chunks = plan.grid().chunks_left(),
            .copies_items = rank.shared.are_of(context.rank()),
            .sample = std::as_bytes(std::span(rank.sample)),
            .machine = rank.share.binds ? &rank.share.machine : nullptr,
            .driver_start = rank.driver_start.get()};
}

void bind_comm_thread(const RankContext& context, RankShare& share) {
    if (share.binds) {
        warn_once(context, bind(share.machine, share.place.comm));
    }
}

StartingReaders::StartingReaders(const RankContext& context, RankShare& share, std::uint32_t readers) {
    if (share.binds) {
        const bool fit = readers <= cores_in(share.machine.topology, share.place.readers);
        bound_.emplace(share.machine, fit ? share.place.readers : share.place.cpus);
        warn_once(context, bound_->finding());
    }
}

}  // namespace sluice
