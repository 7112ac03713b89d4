#include "core/gpu_share.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace sluice {

std::vector<std::uint32_t> gpus_of(std::span<const std::vector<std::string>> ids, std::size_t me,
                                   std::optional<std::uint32_t> wanted) {
    const std::vector<std::string>& mine = ids[me];
    const auto seen = static_cast<std::uint32_t>(mine.size());
    if (seen == 0) {
        return {};
    }
    if (wanted > seen) {
        throw Error(ExitCode::configuration,
                    {.id = "E-GPU-062",
                     .where = "run.devices",
                     .what = fmt::format("{} GPUs were asked for, but this rank sees {}", *wanted, seen),
                     .hint = "lower run.devices, or give the job more GPUs a node"});
    }
    const auto sharers = static_cast<std::uint32_t>(std::ranges::count(ids, mine));
    const auto before = static_cast<std::uint32_t>(std::ranges::count(ids.first(me), mine));
    const std::uint32_t share = seen / sharers;
    const std::uint32_t rest = seen % sharers;
    const std::uint32_t count = wanted.value_or(std::max(1U, share + (before < rest ? 1U : 0U)));
    const std::uint32_t first = wanted       ? before * *wanted
                                : share == 0 ? before
                                             : before * share + std::min(before, rest);
    std::vector<std::uint32_t> taken;
    for (std::uint32_t i = 0; i < count; ++i) {
        taken.push_back((first + i) % seen);
    }
    return taken;
}

}  // namespace sluice
