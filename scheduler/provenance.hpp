#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/cpu_throttling.hpp"
#include "core/machine/gpu_use.hpp"
#include "core/trace/thread_usage.hpp"
#include "scheduler/chunk_times.hpp"

namespace sluice {

/// What one rank ran on, and what its threads and chunks took. Strings are escaped, hence valid UTF-8.
struct RankDetails {
    std::string cpu{};                          ///< Model of its host's CPUs; empty: not known.
    std::vector<std::string> gpus{};            ///< Models of its GPUs.
    std::string driver{};                       ///< NVIDIA's, "580.65.06"; empty: there is none.
    std::optional<CpuThrottling> throttling{};  ///< By a CPU quota, from its start to its end; nullopt: there is none.
    GpuUses gpu_uses{};                         ///< Of those of its GPUs that no rank before it on its node drives.
    std::vector<ThreadUsage> threads{};
    std::vector<ChunkTimes> chunk_times{};
    friend bool operator==(const RankDetails&, const RankDetails&) = default;
};

/// In seconds; rank_details_from() gives back the same.
[[nodiscard]] nlohmann::json to_json(const RankDetails& facts);
[[nodiscard]] RankDetails rank_details_from(const nlohmann::json& json);

/// What made a run's numbers, beside its ranks.
struct Provenance {
    std::string version{};   ///< Of sluice,
    std::string commit{};    ///< and what it was built from,
    std::string compiler{};  ///< by,
    std::string build{};     ///< and as: "Release".
    std::string date{};      ///< When the run began, as utc_text(); empty: not known.
    std::string mpi{};       ///< The library's own words.
    std::string cuda{};      ///< The toolkit's version, "none: built without".
    std::optional<std::string> slurm_job{};
    std::uint64_t slurm_restarts = 0;                             ///< Of that job.
    std::string fingerprint{};                                    ///< Of the run's identity, and what it is made of.
    std::vector<std::pair<std::string, std::string>> identity{};  ///< "input", "model.weights", "run.precision", …
};
[[nodiscard]] nlohmann::json to_json(const Provenance& provenance);

/// The bytes of items and outputs between rank 0 and another one.
struct LinkTraffic {
    int rank = 0;
    std::uint64_t to_rank = 0;
    std::uint64_t from_rank = 0;
    std::chrono::nanoseconds sending{0};  ///< With at least one chunk on its way, as rank 0 saw it: a send is over for
                                          ///< it when MPI has the bytes.
    std::chrono::nanoseconds receiving{0};
    std::optional<double> peak{};  ///< Bytes a second, one way, measured after the run; nullopt: not measured.
};

/// With the rates that were achieved; null where nothing was sent.
[[nodiscard]] nlohmann::json to_json(const LinkTraffic& link);

}  // namespace sluice
