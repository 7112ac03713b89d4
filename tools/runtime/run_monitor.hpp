#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/grant_book.hpp"
#include "core/chunk_grid.hpp"
#include "core/clock.hpp"
#include "core/commit/held_folder.hpp"
#include "core/error.hpp"
#include "core/sync/stop_request.hpp"
#include "slurm/run_files.hpp"
#include "slurm/run_status.hpp"
#include "tools/runtime/recent_rates.hpp"

namespace sluice {

/// A run from its first chunk on. Everything it refers to outlives the serving.
struct ServedRun {
    const GrantBook* book = nullptr;
    std::vector<std::string> hosts{};  ///< Of the ranks.
    // Called from the monitor's thread:
    std::function<ChunkGrid()> grid{};                       ///< Begins after what earlier attempts have done.
    std::function<bool()> is_counted = [] { return true; };  ///< Else the grid's end is an estimate.
    std::function<std::uint64_t()> items_written{};          ///< By this attempt.
    std::function<std::uint64_t()> chunks_committed{};       ///< By all attempts.
};

/// Whether another attempt seems to work on a run.
enum class RunUse : std::uint8_t { free, taken };

/// A thread of rank 0 that writes status.json, and asks the run to stop when its folder contains a drain request or the
/// job's time limit is near.
class RunMonitor {
public:
    /// Writes nothing before open(). `stop` outlives it. `time_left` nullopt: ask Slurm, if this is its job, and again
    /// before stopping the run, because the limit may have been extended. `look_every`: interval of the statuses.
    RunMonitor(StopRequest& stop, std::string host, std::optional<std::chrono::seconds> time_left,
               std::chrono::milliseconds look_every = std::chrono::seconds(1));
    ~RunMonitor();
    RunMonitor(const RunMonitor&) = delete;
    RunMonitor& operator=(const RunMonitor&) = delete;

    /// Of a submitted job, before it knows whether it gets the run in `run_folder`, which exists: its status is written
    /// there, unless another attempt's is. Throws Error as open().
    void prepare_in(const std::filesystem::path& run_folder, RunUse use);

    /// The run is this attempt's: from now on its status is written to `run_folder`, which exists. Throws Error
    /// (refused) unless the folder is this user's alone.
    void open(const std::filesystem::path& run_folder, const std::filesystem::path& output);

    /// Records that there was nothing to do.
    void found_complete(const ChunkGrid& grid);

    /// The run grants chunks until serve_no_more().
    void serve(ServedRun run);
    void serve_no_more();

    /// Sets the message for the run's end; only the first call counts.
    void explain(const ErrorText& text);

    /// The run's folder is about to be removed, with the status, because nothing in it is worth keeping. For Slurm's
    /// batch script the status is kept.
    void withdraw();

    /// Writes the last status and ends the thread. A second call does nothing.
    void end(ExitCode code) noexcept;

    /// After end(), before serve_no_more(): more has been committed, which the last status has to tell, too.
    void count_again();

private:
    enum class Role : std::uint8_t {
        first,  ///< Nobody else is at the run, as far as known.
        guest,  ///< The status is another attempt's.
        owner,
    };

    void begin_in(const std::filesystem::path& run_folder);
    void watch();
    void ask_slurm(const std::string& end_time, const std::stop_token& stop);
    void look();
    void look_at_run();
    void take_counts();
    void take_rates();
    void stop_if_asked();
    [[nodiscard]] bool asks_again();
    void write();

    StopRequest& stop_;
    std::chrono::milliseconds look_every_;
    std::mutex mutex_;
    std::condition_variable wake_;
    Role role_ = Role::first;
    bool over_ = false;
    bool drain_requested_ = false;
    bool warned_ = false;
    bool slurm_tells_ = false;  // limit_ is from Slurm
    bool is_to_ask_ = true;     // Slurm
    bool has_asked_again_ = false;
    std::optional<RunFiles> files_;  // nullopt: nothing is written
    std::optional<HeldFolder> held_;
    RunStatus status_;
    ErrorText explanation_;
    std::optional<ServedRun> run_;
    std::optional<Instant> limit_;
    Clock::duration served_from_{};  // in the book's running time
    RecentRates rates_;
    std::thread thread_;
    std::jthread asking_;  // Slurm
};

}  // namespace sluice
