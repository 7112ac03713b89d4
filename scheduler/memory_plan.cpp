#include "scheduler/memory_plan.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <string>

#include "core/error.hpp"

namespace sluice {
namespace {

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
        throw Error(ExitCode::out_of_memory,
                    {.id = "E-MEM-068",
                     .where = "memory plan",
                     .what = fmt::format("the job needs {}, this node's limit is {}", size(needed), size(available)),
                     .hint = "lower pipeline.depth, pipeline.chunk_items or run.devices"});
    }
}

}  // namespace sluice
