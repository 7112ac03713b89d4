#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/chunk_server.hpp"
#include "comm/local_hub.hpp"
#include "comm/mpi_remote_hub.hpp"
#include "comm/serve.hpp"
#include "core/chunk_grid.hpp"
#include "core/input/read_ahead.hpp"
#include "core/output/ordered_results.hpp"
#include "core/trace/trace.hpp"
#include "scheduler/report.hpp"
#include "tools/runtime/job_output.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/prepare_rank.hpp"
#include "tools/runtime/progress.hpp"
#include "tools/runtime/run_end.hpp"
#include "tools/runtime/run_job.hpp"

namespace sluice {

/// Rank 0's part of a run, from prepared ranks to the published output: reads, serves chunks to all ranks, computes on
/// its own devices and writes.
class JobServer {
public:
    /// All arguments except `options` outlive it. Throws Error.
    JobServer(const Root& root, const PreparedJob& job, const OpenAttempt& attempt, const Meeting& meeting,
              PreparedRank& rank, const RunOptions& options);
    ~JobServer();
    JobServer(const JobServer&) = delete;
    JobServer& operator=(const JobServer&) = delete;

    /// Serves the job to its end and publishes the output, or, if stopped, commits what was done. Returns rank 0's
    /// trace. Call once. After a failure it ends this process and all ranks.
    [[nodiscard]] RankTrace run();

    /// The run's report so far, without the ranks' own.
    [[nodiscard]] RunReport report() const;

    /// Clock bounds from each rank's messages; empty in a single process.
    [[nodiscard]] std::span<const ClockBounds> clock_bounds() const {
        return remote_ ? remote_->clock_bounds() : std::span<const ClockBounds>();
    }

    /// After run(): why it ended early.
    [[nodiscard]] const std::optional<Failure>& stopped_by() const noexcept { return stopped_by_; }

private:
    [[nodiscard]] MpiRemoteHub* others() { return remote_ ? &*remote_ : nullptr; }
    [[nodiscard]] EndReach reach() { return {.output = attempt_.output.get(), .others = others()}; }
    [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(rank_.devices.size()); }
    [[nodiscard]] std::vector<LinkTraffic> links() const;
    [[nodiscard]] EncoderThreads count_encoders() const;
    void drain(const StopCause& cause, const DriverTeam& team);
    void end_abruptly(const DriverTeam& team, ExitCode code, const ErrorText& reason);
    void finish(const Served& served);
    [[nodiscard]] HangWatchOptions hang_watch_options();
    [[nodiscard]] RankTrace joined(RankTrace trace, std::vector<ThreadTrace> threads) const;
    [[nodiscard]] RunReport partial_report(const DriverTeam& team, const ErrorText& reason) const;
    void wait_until_committed() const;

    const RankContext& context_;
    const Root& root_;
    const PreparedJob& job_;
    const OpenAttempt& attempt_;
    const std::vector<std::string>& hosts_;
    PreparedRank& rank_;
    RunOptions options_;
    ChunkGrid grid_;
    std::uint32_t readers_;
    EncoderThreads encoders_;
    std::optional<StartingReaders> starting_;  // while the next two start their threads
    ReadAhead input_;
    OrderedResults results_;
    ChunkServer server_;
    CommTrace comm_trace_;
    LocalHub local_;
    std::optional<MpiRemoteHub> remote_;  // with a session
    std::optional<Progress> progress_;
    std::optional<Failure> stopped_by_;
};

}  // namespace sluice
