#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/app.hpp"
#include "core/commit/run_paths.hpp"

namespace sluice {

struct SpotCheckOptions {
    std::uint64_t items = 1;  ///< As many, chosen at random; all if there are not more.
    std::uint64_t seed = 0;   ///< The choice follows from it.
    bool progress = true;     ///< Shown on stderr, as Progress does it.
};

/// An item whose row is not what it becomes now.
struct DifferentItem {
    std::uint64_t item = 0;
    std::string published{};  ///< Its row from where the two differ, shortened and escaped.
    std::string now{};        ///< Likewise.
};

struct SpotCheck {
    std::uint64_t seed = 0;
    std::uint64_t recomputed = 0;
    std::uint64_t differ = 0;
    std::vector<DifferentItem> different{};  ///< The first of those, at most 1000, in ascending order.
};

/// Computes items of the complete output at `paths` again, from its input and with the settings of its run, and
/// compares their rows byte for byte. Items that were left out are not chosen. Computes on all cores of this process,
/// or on one GPU, in chunks of the run's size: memory does not depend on the output's size. `paths` are open for
/// modifying (named_run). Throws Error: unavailable (E-CKP-197) if the run was on GPUs and there is none here;
/// configuration (E-CKP-195) if input, weights, files or the GPU's model are not those of the run, or (E-CKP-091) the
/// host's instructions; as prepare_job.
[[nodiscard]] SpotCheck spot_check(const RunPaths& paths, const Apps& apps, const SpotCheckOptions& options);

/// Throws Error (checkpoint_damaged, E-CKP-194) if an item has become different.
void require_same(const SpotCheck& found, const RunPaths& paths);

}  // namespace sluice
