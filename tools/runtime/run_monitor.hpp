#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/grant_book.hpp"
#include "core/commit/held_folder.hpp"
#include "core/error.hpp"
#include "core/sync/stop_request.hpp"
#include "slurm/run_status.hpp"

namespace sluice {

/// What a run does from its first chunk on. All of it outlives the serving.
struct ServedRun {
    const GrantBook* book = nullptr;
    std::vector<std::string> hosts{};  ///< Of the ranks.
    std::uint64_t items = 0;
    std::uint64_t items_before = 0;  ///< Done by earlier attempts.
    std::uint32_t chunk_items = 1;
    std::function<std::uint64_t()> items_written{};  ///< Of this attempt; called from the monitor's thread.
};

/// Rank 0's clerk: a thread that writes status.json once a second, and asks the run to stop when a drain request lies
/// in the run's folder, or the job's time is nearly over.
class RunMonitor {
public:
    /// Nothing is written before open(). `stop` outlives it. `time_left` nullopt: Slurm is asked, if this is its job,
    /// and again before it stops the run, because the job may have more time by then.
    RunMonitor(StopRequest& stop, std::string host, std::optional<std::chrono::seconds> time_left);
    ~RunMonitor();
    RunMonitor(const RunMonitor&) = delete;
    RunMonitor& operator=(const RunMonitor&) = delete;

    /// From now on the status stands in `run_folder`, which exists. A second call adds the output's
    /// name, if it was not known. Throws Error (refused) when the folder is not this user's alone.
    void open(const std::filesystem::path& run_folder, const std::filesystem::path& output);

    /// There was nothing to do.
    void found_complete(std::uint64_t items, std::uint32_t chunk_items);

    /// The run hands out chunks, until serve_no_more().
    void serve(ServedRun run);
    void serve_no_more();

    /// The message that the run's end is told with; the first one counts.
    void explain(const ErrorText& text);

    /// The run's folder is about to go, because nothing in it is worth keeping: neither is its status. Slurm's batch
    /// script wants it all the same.
    void withdraw();

    /// The last status, and the end of the thread. A second call changes nothing.
    void end(ExitCode code) noexcept;

private:
    struct Sample {
        std::chrono::steady_clock::time_point at{};
        std::uint64_t items = 0;
        std::vector<std::uint64_t> of_rank{};
    };

    void watch();
    void ask_slurm(const std::stop_token& stop);
    void look();
    void take_counts();
    void take_rates();
    void stop_if_asked();
    [[nodiscard]] bool asks_again();
    void write();

    StopRequest& stop_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::mutex mutex_;
    std::condition_variable wake_;
    bool over_ = false;
    bool drain_requested_ = false;
    bool warned_ = false;
    bool slurm_tells_ = false;  // when the job's time is over
    bool is_to_ask_ = true;     // Slurm
    bool has_asked_again_ = false;
    std::filesystem::path folder_;
    std::optional<HeldFolder> held_;
    RunStatus status_;
    ErrorText explanation_;
    std::optional<ServedRun> run_;
    std::optional<std::chrono::steady_clock::time_point> limit_;
    std::optional<std::chrono::steady_clock::time_point> serving_since_;
    std::deque<Sample> samples_;
    std::thread thread_;
    std::jthread asking_;  // Slurm
};

}  // namespace sluice
