#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/grant_book.hpp"
#include "comm/rank_tally.hpp"
#include "comm/serve.hpp"
#include "core/chunk_grid.hpp"
#include "core/input/read_ahead.hpp"
#include "core/output/ordered_results.hpp"
#include "core/trace/trace.hpp"
#include "scheduler/memory_plan.hpp"
#include "scheduler/queue_sizes.hpp"
#include "scheduler/report.hpp"
#include "tools/runtime/job_output.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/progress.hpp"
#include "tools/runtime/rank_context.hpp"
#include "tools/runtime/run_job.hpp"

namespace sluice {

/// Rank 0's part of a run, from the plan that all ranks know to the published output: it reads, serves chunks to every
/// rank, computes on its own devices and writes.
class JobServer {
public:
    /// `context` and `job` outlive it; the job's weights are used up. Collective. Throws Error.
    JobServer(RankContext& context, PreparedJob& job, const RunOptions& options);
    ~JobServer();
    JobServer(const JobServer&) = delete;
    JobServer& operator=(const JobServer&) = delete;

    /// Serves the job to its end and publishes the output; or, when it is stopped, commits what was done. Returns what
    /// rank 0 recorded. Called once. After a failure it ends the process, and all ranks.
    [[nodiscard]] RankTrace run();

    /// By this attempt.
    [[nodiscard]] std::uint64_t items_written() const { return results_->items_written(); }

    /// Why it ended early, after run().
    [[nodiscard]] const std::optional<Failure>& stopped_by() const noexcept { return stopped_by_; }

private:
    void tell_size();
    void share_sample();
    void drain(const StopCause& cause);
    void report_drain(const RunReport& report) const;
    void finish(const Served& served, bool whole);
    void commit_what_came();
    [[noreturn]] void end_after_loss(const Served& served);
    [[nodiscard]] HangWatchOptions hang_watch_options() const;
    [[nodiscard]] RunReport partial_report(RankTrace&& trace, const ErrorText& reason) const;
    void wait_until_committed() const;

    RankContext& context_;
    PreparedJob& job_;
    RunOptions options_;
    ChunkGrid grid_;  // of what is left to do
    AnnouncedOutput output_;
    IoShape shape_;
    RankShare share_;
    std::vector<std::uint32_t> devices_;  // of every rank
    RankTally tally_;
    QueueSizes queues_;
    MemoryNeeds memory_;
    std::unique_ptr<LoadedApp> loaded_;
    std::string sample_;
    std::optional<ReadAhead> input_;
    std::optional<OrderedResults> results_;
    std::optional<GrantBook> book_;
    std::optional<Progress> progress_;
    std::optional<Failure> stopped_by_;
};

}  // namespace sluice
