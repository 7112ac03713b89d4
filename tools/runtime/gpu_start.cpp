#include "tools/runtime/gpu_start.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <stop_token>

#include "core/machine/gpu_visibility.hpp"
#include "core/machine/launch.hpp"

namespace sluice {
namespace {

constexpr const char* visibility_variable = "CUDA_VISIBLE_DEVICES";

std::vector<std::string> uuids_at(const NodeView& node) {
    std::vector<std::string> uuids;
    for (const DevicePlace& device : node.placement.ranks[node.me].devices) {
        uuids.push_back(node.layout.ranks[node.me].gpus[device.number].id);
    }
    return uuids;
}

}  // namespace

GpuWish gpu_wish(const JobConfig& job) {
    const auto sees_some = [] {
        const auto gpus = gpus_in_sight();
        return gpus && !gpus->empty();
    };
    return {.wanted = built_with_cuda() &&
                      (job.run.device == DeviceKind::cuda || (job.run.device == DeviceKind::automatic && sees_some())),
            .devices = job.run.devices,
            .bind = job.layout.bind};
}

std::optional<std::vector<CudaGpu>> gpus_in_sight() {
    if (!built_with_cuda()) {
        return std::nullopt;
    }
    const auto gpus = read_driver_gpus();
    return gpus ? seen_by_cuda(*gpus, own_variable(visibility_variable)) : std::nullopt;
}

std::uint32_t expected_gpus(const RankContext& context, const GpuWish& wish, const GpuStart& start) {
    const bool is_alone = context.session == nullptr;
    const auto share_of_node = [&] {
        const auto seen = gpus_in_sight();
        const std::size_t gpus = seen ? seen->size() : cuda_device_count();
        return static_cast<std::uint32_t>(gpus) /
               static_cast<std::uint32_t>(is_alone ? 1 : context.session->node_size());
    };
    const std::uint32_t of_rank = start.node     ? static_cast<std::uint32_t>(start.uuids.size())
                                  : wish.devices ? *wish.devices
                                                 : share_of_node();
    const int ranks = is_alone ? 1 : context.session->size();
    return std::max(1U, of_rank) * static_cast<std::uint32_t>(ranks);
}

bool all_of_node(const RankContext& context, bool mine) {
    if (context.session == nullptr) {
        return mine;
    }
    const auto words = context.session->node_all_gather(mine ? "yes" : "no");
    return std::ranges::all_of(words, [](const std::string& word) { return word == "yes"; });
}

GpuStart start_gpus(const RankContext& context, const GpuWish& wish) {
    GpuStart start;
    if (!wish.wanted) {
        return start;
    }
    ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 0);
    const bool is_alone = context.session == nullptr;
    const auto seen = gpus_in_sight();
    if (is_alone && (!wish.devices || (seen && *wish.devices == seen->size()))) {  // it will drive all on any machine
        start.driver = std::make_unique<DriverStart>();
    }
    const std::size_t needed = std::max(1U, wish.devices.value_or(1));
    if (!all_of_node(context, seen && seen->size() >= needed)) {  // otherwise place() would reject the job too early
        return start;
    }
    start.node = view_node(context.session, {.device = DeviceKind::cuda,
                                             .devices = wish.devices,
                                             .bind = wish.bind,
                                             .reads = context.rank() == 0,
                                             .gpus = seen});
    start.uuids = uuids_at(*start.node);
    start.numbers = numbers_of(start.uuids, *seen).value();
    if (const auto narrowed = variable_for(start.uuids, *seen)) {
        ::setenv(visibility_variable, narrowed->c_str(), 1);
        std::iota(start.numbers.begin(), start.numbers.end(), 0U);  // CUDA keeps the variable's order
    }
    if (start.driver == nullptr) {
        start.driver = std::make_unique<DriverStart>(
            std::vector<std::uint32_t>{},
            DriverTurn{.wait = [&board = context.board](const std::stop_token& stop) { board.wait_for_turn(stop); },
                       .pass_on = [&board = context.board] { board.pass_turn_on(); }});
    }
    return start;
}

}  // namespace sluice
