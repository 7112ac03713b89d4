#include "scheduler/memory_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t least_reserve = std::uint64_t{256} << 20U;  // bytes per device
constexpr std::uint64_t reserved_part = 64;                         // plus 1 / this of its memory

[[noreturn]] void reject(const MemoryNeeds& needs) {
    throw Error(ExitCode::out_of_memory,
                {.id = "E-MEM-068",
                 .where = "memory plan",
                 .what = fmt::format(
                     "chunks of {} items ({} + {} bytes each), {} per device on {} devices, {} read ahead and {} "
                     "to be written take more than 2^64 bytes",
                     needs.chunk_items, needs.shape.input_bytes, needs.shape.output_bytes, needs.depth, needs.devices,
                     needs.staged_chunks, needs.window_chunks),
                 .hint = "lower pipeline.chunk_items or pipeline.depth"});
}

/// "41.2 GiB", "17.0 MiB".
std::string size(std::uint64_t bytes) {
    constexpr double mebibyte = 1024.0 * 1024.0;
    const double mebibytes = static_cast<double>(bytes) / mebibyte;
    return mebibytes < 1024 ? fmt::format("{:.1f} MiB", mebibytes) : fmt::format("{:.1f} GiB", mebibytes / 1024);
}

}  // namespace

MemoryPlan plan_memory(const MemoryNeeds& needs) {
    const auto product = [&needs](std::initializer_list<std::uint64_t> factors) {
        std::uint64_t result = 1;
        for (const std::uint64_t factor : factors) {
            if (__builtin_mul_overflow(result, factor, &result)) {
                reject(needs);
            }
        }
        return result;
    };
    const std::uint64_t item = std::uint64_t{needs.shape.input_bytes} + needs.shape.output_bytes;
    const std::uint64_t slots = product({needs.depth, needs.devices});
    const MemoryPlan plan{.pinned = product({slots, item, needs.chunk_items}),
                          .device = product({slots, item, needs.chunk_items}),
                          .work = product({needs.devices, needs.work_bytes}),
                          .staging = product({needs.staged_chunks, needs.chunk_items, needs.shape.input_bytes}),
                          .window = product({needs.window_chunks, needs.chunk_items, needs.shape.output_bytes})};
    std::uint64_t total = 0;
    for (const std::uint64_t part : {plan.pinned, plan.device, plan.work, plan.staging, plan.window}) {
        if (__builtin_add_overflow(total, part, &total)) {
            reject(needs);
        }
    }
    return plan;
}

void check_memory(const MemoryPlan& plan, DeviceKind kind, std::uint64_t available) {
    const std::uint64_t needed = plan.host_total(kind);
    if (needed > available) {
        throw Error(
            ExitCode::out_of_memory,
            {.id = "E-MEM-068",
             .where = "memory plan",
             .what = fmt::format("this process needs {}, its share of the node's limit is {}", size(needed),
                                 size(available)),
             .hint = "lower pipeline.depth, pipeline.chunk_items, run.devices or the number of ranks on a node"});
    }
}

ModelRoom room_on_host(const MemoryNeeds& needs, std::uint64_t available) {
    const std::uint64_t taken = plan_memory(needs).host_total(DeviceKind::host);
    expects(taken <= available, "memory plan: less room than check_memory() was given");
    return {.most_items = static_cast<std::uint32_t>(needs.chunk_items),
            .device_bytes = needs.work_bytes + (available - taken) / std::max<std::uint64_t>(needs.devices, 1)};
}

ModelRoom room_on_device(const MemoryNeeds& needs, const MemoryInfo& memory, std::uint32_t ranks,
                         std::string_view device) {
    MemoryNeeds one = needs;
    one.devices = 1;
    const std::uint64_t slots = plan_memory(one).device;
    const std::uint64_t share = std::min(memory.free_bytes, memory.all_bytes / std::max(ranks, 1U));
    std::uint64_t room = share;
    for (const std::uint64_t taken : {slots, needs.weight_bytes, least_reserve + memory.all_bytes / reserved_part}) {
        room -= std::min(room, taken);
    }
    if (needs.work_bytes > room) {
        throw Error(
            ExitCode::out_of_memory,
            {.id = "E-GPU-066",
             .where = std::string(device),
             .what = fmt::format("the model needs {} for chunks of {} items, but {} are left of {}: the weights "
                                 "take {}, {} slots {}",
                                 size(needs.work_bytes), needs.chunk_items, size(room), size(share),
                                 size(needs.weight_bytes), needs.depth, size(slots)),
             .hint = "lower pipeline.chunk_items or pipeline.depth, or ask for a GPU with more free memory"});
    }
    return {.most_items = static_cast<std::uint32_t>(needs.chunk_items), .device_bytes = room};
}

}  // namespace sluice
