#include "tools/runtime/rank_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "comm/node_sharing.hpp"
#include "comm/node_view.hpp"
#include "comm/watcher.hpp"
#include "core/chunk_grid.hpp"
#include "core/commit/attempt_history.hpp"
#include "core/device/cuda.hpp"
#include "core/machine/build_id.hpp"
#include "core/machine/memory_limit.hpp"
#include "core/standard_error.hpp"
#include "tools/runtime/preflight.hpp"

namespace sluice {
namespace {

std::uint64_t chunks_to_do(const JobPlan& plan) {
    return ChunkGrid(plan.items, plan.chunk_items).rest(plan.first_chunk).chunks();
}

/// A host device that gets no chunk would still make its buffers and threads.
std::optional<std::uint32_t> useful_devices(const JobPlan& plan) {
    if (!plan.devices || plan.device != DeviceKind::host) {
        return plan.devices;
    }
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(chunks_to_do(plan), 1, std::max<std::uint32_t>(1, *plan.devices)));
}

void warn_of_fewer_devices(const RankContext& context, const JobPlan& plan, const RankShare& share) {
    const std::size_t devices = share.place.devices.size();
    if (context.rank() == 0 && devices < plan.devices.value_or(0)) {
        say(ErrorText{
            .id = "W-RUN-151",
            .where = context.who(),
            .what = fmt::format("drives {} host devices, not run.devices = {}: there are {} chunks to do, "
                                "and {} cores on the node",
                                devices, *plan.devices, chunks_to_do(plan), share.machine.topology.cores.size()),
            .hint = "lower run.devices, or leave it out"});
    }
}

}  // namespace

std::string RankContext::who() const {
    return session == nullptr ? std::string() : fmt::format("rank {} on {}", session->rank(), host);
}

std::string greeting(const RankContext& context) {
    return fmt::format("{} {} {}", build_id(), name_of(host_instructions()), context.host);
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
    NodeView node = view_node(
        context.session,
        {.device = plan.device, .devices = useful_devices(plan), .bind = plan.bind, .reads = context.rank() == 0});
    warn_once(context, node.finding);
    warn_of_places(context, node, plan);
    RankShare share{.machine = std::move(node.machine),
                    .place = node.placement.ranks[node.me],
                    .binds = plan.bind == BindMode::gpu_local};
    if (share.place.devices.empty()) {
        static_cast<void>(make_cuda_device(0));  // says what is missing
    }
    warn_of_fewer_devices(context, plan, share);
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

std::unique_ptr<LoadedApp> load_app(RankContext& context, const JobPlan& plan, const OpenApp& app,
                                    const WeightBlob& weights, std::uint32_t cores) {
    if (plan.device == DeviceKind::host) {
        limit_host_instructions(plan.instructions);
    }
    if (context.session == nullptr) {
        return load_alone(app, weights, plan.precision, plan.device, cores);
    }
    std::unique_ptr<LoadedApp> loaded = app.load(weights, plan.precision, plan.device);
    if (PackedWeights* const packed = loaded->weights(); packed != nullptr) {
        pack_once_a_node(*context.session, *packed, cores);
    }
    return loaded;
}

void leave_notes_in(RankContext& context, const std::filesystem::path& folder) {
    context.notes.emplace(folder, FolderTrust::only_mine);
    CrashReports::leave_behind(crash_file(folder, context.rank()));
    context.last_words.set_notes(
        {.lost_rank = [folder](
                          int rank, const std::string& cause,
                          const std::vector<std::uint64_t>& chunks) { note_lost_rank(folder, rank, cause, chunks); },
         .end = [folder](ExitCode code, const ErrorText& text) { note_end(folder, code, text); }});
}

void warn_once(RankContext& context, const std::optional<ErrorText>& finding) {
    if (finding && context.board.claim_warning()) {
        ErrorText text = *finding;
        text.where = context.who();
        say(text);
    }
}

void print_once(RankContext& context, const ErrorText& text) {
    if (context.monitor != nullptr) {
        context.monitor->explain(text);
    }
    if (context.board.claim_message()) {
        say(text);
    }
}

void give_signs_while(RankContext& context, const std::function<void()>& action) {
    context.signs == nullptr ? action() : context.signs->give_while(action);
}

void end_now(RankContext& context, ExitCode code) {
    if (context.monitor != nullptr) {
        give_signs_while(context, [&] { context.monitor->end(code); });
    }
    context.board.mine().end_with(code);  // first: whom that ends may end this process before it is through
    if (context.tell_end) {
        context.tell_end(code);
    }
    if (context.session != nullptr) {
        context.session->abort(code);
    }
    std::_Exit(static_cast<int>(code));
}

}  // namespace sluice
