#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/hang_watch.hpp"
#include "comm/last_words.hpp"
#include "comm/mpi_session.hpp"
#include "comm/rank_board.hpp"
#include "comm/root_signs.hpp"
#include "core/clock.hpp"
#include "core/commit/held_folder.hpp"
#include "core/config/config.hpp"
#include "core/machine/binding.hpp"
#include "core/machine/placement.hpp"
#include "core/machine/topology_hwloc.hpp"
#include "core/stage_error.hpp"
#include "core/sync/stop_request.hpp"
#include "core/trace/lanes.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/run_job.hpp"
#include "tools/runtime/run_monitor.hpp"

namespace sluice {

/// What one rank's run is made with. Everything it points to outlives it.
struct RankContext {
    const Apps& apps;
    MpiSession* session = nullptr;  ///< Null in a single process.
    RankBoard& board;
    Doorbell& bell;  ///< The comm thread's.
    StopRequest& stop;
    Lanes& lanes;
    HangWatch& hangs;
    LastWords& last_words;
    std::string host;
    Instant start{};
    std::uint64_t first_chunk = 0;          ///< What the run calls chunk 0, once the plan is known.
    CommittedOutput* output = nullptr;      ///< Rank 0's, once it is open.
    std::shared_ptr<RunMonitor> monitor{};  ///< Rank 0's.
    std::vector<std::string> hosts{};       ///< Of all ranks; rank 0 alone has them.
    /// Of the host devices of each rank, likewise.
    std::vector<HostInstructions> instructions{};
    /// Rank 0's, while it serves: tells the others that the job ends.
    std::function<void(ExitCode)> tell_end{};
    RootSigns* signs = nullptr;         ///< Until then, if there are others.
    std::optional<HeldFolder> notes{};  ///< Where leave_notes_in() leaves them.

    [[nodiscard]] int rank() const { return session == nullptr ? 0 : session->rank(); }

    /// Of the memory that this node gives the job.
    [[nodiscard]] std::uint64_t memory_share() const;

    /// "rank 2 on n07"; empty in a single process.
    [[nodiscard]] std::string who() const;
};

/// Rank 0, or the only process: prepares the job, serves it, writes the output and the report, or finds the output
/// complete. Returns the exit code; throws the Error of a job that cannot be prepared in a single process.
[[nodiscard]] int run_root(RankContext& context, const std::function<JobFile()>& job_file, const RunOptions& options);

/// Any other rank. Returns the exit code that rank 0 has announced.
[[nodiscard]] int run_worker(RankContext& context);

/// What a rank says first: its build, the instructions of its host devices and its host, with spaces between.
[[nodiscard]] std::string greeting(const RankContext& context);

/// Its node, and its part of it.
struct RankShare {
    Machine machine{};
    RankPlace place{};
    bool binds = false;  ///< Each thread is tied to the CPUs of its place.

    /// The devices that this rank drives, by number: what the job says, else its even share.
    [[nodiscard]] std::vector<std::uint32_t> devices() const;

    /// Where their drivers run; empty: wherever they are started.
    [[nodiscard]] std::vector<CpuSet> driver_cpus() const;
};

/// Collective over the node. With BindMode::none it frees this process of the launcher's mask.
[[nodiscard]] RankShare choose_share(RankContext& context, const JobPlan& plan);

/// Ties the calling thread to the comm thread's place, from now on.
void bind_comm_thread(RankContext& context, RankShare& share);

/// While it lives, threads that the calling thread starts are readers, or the writer: they run in the readers' place,
/// or when that has fewer cores than there are `readers`, on all of the rank's.
class StartingReaders {
public:
    StartingReaders(RankContext& context, RankShare& share, std::uint32_t readers);

private:
    std::optional<BoundWhile> bound_;
};

/// The app, ready to make models: its weights are packed, once for all ranks of a node. Collective.
[[nodiscard]] std::unique_ptr<LoadedApp> load_app(RankContext& context, const JobPlan& plan, const OpenApp& app,
                                                  const WeightBlob& weights, std::uint32_t cores);

/// From now on this process's end, and what it sees of others', is noted in this attempt's folder. Throws Error as
/// HeldFolder.
void leave_notes_in(RankContext& context, const std::filesystem::path& folder);

/// Prints `finding`, if there is one, as the node's one warning.
void warn_once(RankContext& context, const std::optional<ErrorText>& finding);

/// Prints `failure` as the job's one message, unless one was printed on this node before.
void print_once(RankContext& context, const ErrorText& text);

/// Lets `action` run while rank 0 gives the other ranks its signs of life: files may keep it waiting. For the thread
/// that makes its MPI calls. Throws what `action` throws.
void give_signs_while(RankContext& context, const std::function<void()>& action);

/// Ends this process, and all ranks with it, with `code`; other threads are not waited for.
[[noreturn]] void end_now(RankContext& context, ExitCode code);

}  // namespace sluice
