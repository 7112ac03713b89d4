#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "comm/hang_watch.hpp"
#include "comm/rank_board.hpp"
#include "comm/shutdown_hook.hpp"
#include "core/clock.hpp"
#include "core/sync/stop_request.hpp"

namespace sluice {

/// Blocks SIGTERM, SIGINT and SIGUSR1 for the calling thread and those it starts, so that only a Watcher meets them.
/// They stay blocked: a launcher that signals because one rank has ended with an error must not end another one before
/// it has said its message. To be called before the first thread exists.
void block_signals();

/// A thread that turns signals into a StopRequest (or, while nobody looks at that, and at a second signal, ends the
/// process at once; what is committed stays; a first SIGUSR1 then ends rank 0 only, which ends the others), and
/// notices when another rank of the node has died, or when one hangs: then it prints which one, where and at what, once
/// a node, and ends this process, which ends the job. On rank 0 the shutdown hook comes before that; on others rank 0
/// goes first.
class Watcher {
public:
    /// All of them outlive it. `host` stands in messages.
    Watcher(RankBoard& board, StopRequest& stop, HangWatch& hangs, ShutdownHook& shutdown_hook, std::string host);
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

private:
    void watch();
    void obey(int signal);
    [[nodiscard]] bool ends_after_root(int signal);
    [[noreturn]] void end_after_death_of(const RankEntry& dead);
    [[noreturn]] void end_after(const Hang& hang);
    void let_root_go_first() const;

    RankBoard& board_;
    StopRequest& stop_;
    HangWatch& hangs_;
    ShutdownHook& shutdown_hook_;
    std::string host_;
    Instant first_signal_{};
    std::atomic<bool> over_{false};
    std::thread thread_;
};

/// While it lives, a crash of this process (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) prints one line that names rank,
/// host, stage and chunk before the signal takes its usual course. One at a time.
class CrashReports {
public:
    /// `board` outlives it.
    CrashReports(RankBoard& board, const std::string& host);
    ~CrashReports();

    /// From now on a crash also leaves `file`, with the line and the chunks that this rank held: those that the board
    /// says, and `book` (rank 0's, which outlives this or is set to null before).
    static void leave_behind(const std::filesystem::path& file);
    static void set_book(const GrantBook* book) noexcept;

    CrashReports(const CrashReports&) = delete;
    CrashReports& operator=(const CrashReports&) = delete;
};

}  // namespace sluice
