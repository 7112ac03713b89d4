#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/commit/part_plan.hpp"
#include "core/commit/run_paths.hpp"

namespace sluice {

/// The bytes that a file of `items` items begins with. A function of the job and of `items`.
using FileHeader = std::function<std::string(std::uint64_t items)>;

/// What part `part` begins with. One file has its header in part 0, for all items; in a folder each part is a file of
/// its own and has one for its items.
[[nodiscard]] inline std::string part_header(const FileHeader& header, const PartPlan& plan, OutputLayout layout,
                                             std::uint32_t part) {
    if (layout == OutputLayout::folder) {
        return header(plan.items_of(part));
    }
    return part == 0 ? header(plan.grid().items()) : std::string();
}

}  // namespace sluice
