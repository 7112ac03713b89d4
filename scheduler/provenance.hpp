#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/cgroup.hpp"
#include "core/machine/gpu_use.hpp"
#include "core/trace/thread_usage.hpp"
#include "scheduler/chunk_times.hpp"

namespace sluice {

/// One rank's hardware, and the times of its threads and chunks. Strings are escaped, hence valid UTF-8.
struct RankDetails {
    std::string cpu{};                          ///< Model of its host's CPUs; empty: unknown.
    std::vector<std::string> gpus{};            ///< Models of its GPUs.
    std::string driver{};                       ///< NVIDIA driver version, "580.65.06"; empty: none.
    std::optional<CpuThrottling> throttling{};  ///< By a CPU quota, over the whole run; nullopt: no quota.
    GpuUses gpu_uses{};                         ///< Of its GPUs that no lower rank of its node drives.
    std::vector<ThreadUsage> threads{};
    std::vector<ChunkTimes> chunk_times{};
    friend bool operator==(const RankDetails&, const RankDetails&) = default;
};

/// For the report: in seconds.
[[nodiscard]] nlohmann::json to_json(const RankDetails& facts);

/// Origin of a run's numbers, apart from its ranks.
struct Provenance {
    std::string version{};   ///< Of sluice.
    std::string commit{};    ///< That sluice was built from.
    std::string compiler{};  ///< With version.
    std::string build{};     ///< Build type, "Release".
    std::string date{};      ///< Start of the run, as utc_text(); empty: unknown.
    std::string mpi{};       ///< As the library describes itself.
    std::string cuda{};      ///< The toolkit's version, "none: built without".
    std::optional<std::string> slurm_job{};
    std::uint64_t slurm_restarts = 0;                             ///< Restarts of that job.
    std::string fingerprint{};                                    ///< Of `identity`.
    std::vector<std::pair<std::string, std::string>> identity{};  ///< "input", "model.weights", "run.precision", …
};
void to_json(nlohmann::json& to, const Provenance& provenance);

/// Traffic of items and outputs between rank 0 and another rank, in bytes.
struct LinkTraffic {
    int rank = 0;
    std::uint64_t to_rank = 0;
    std::uint64_t from_rank = 0;
    /// With at least one chunk in transit, as seen by rank 0, for which a send ends when MPI has the bytes.
    std::chrono::nanoseconds sending{0};
    std::chrono::nanoseconds receiving{0};
    std::optional<double> peak{};  ///< Bytes per second, one way, measured after the run; nullopt: not measured.
};

/// Includes achieved rates; null where nothing was sent.
void to_json(nlohmann::json& to, const LinkTraffic& link);

}  // namespace sluice
