#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/hang_watch.hpp"
#include "comm/job_end.hpp"
#include "comm/rank_board.hpp"
#include "comm/shutdown_hook.hpp"
#include "core/clock.hpp"
#include "core/sync/stop_request.hpp"

namespace sluice {

/// Blocks SIGTERM, SIGINT, SIGUSR1 and SIGXCPU for the calling thread and those it starts, so that only a Watcher
/// receives them. They stay blocked: a launcher that signals because one rank failed must not end another before it has
/// printed its message. Call before the first thread is started.
void block_signals();

/// A thread that notices signals, the death of another rank of the node, and hangs, and does what answer_signal() and
/// decide_end() say: it turns a signal into a StopRequest, or prints what has happened, once per node, and ends this
/// process, which ends the job.
class Watcher {
public:
    /// All references outlive it. `host` is for messages.
    Watcher(RankBoard& board, StopRequest& stop, HangWatch& hangs, ShutdownHook& shutdown_hook, std::string host);
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

private:
    /// What an Ending is carried out with.
    struct Reason {
        ErrorText text{};
        bool is_claimed = false;  // this process has claimed the node's message
        std::string dump{};       // printed after the text
        ErrorText note{};         // for the next attempt
        int signal = 0;
        int lost_rank = 0;
        std::vector<std::uint64_t> lost_chunks{};
    };

    void watch();
    [[nodiscard]] bool is_root();
    void obey(int signal);
    [[noreturn]] void end_at_once(int signal, RunPhase phase);
    [[noreturn]] void end_after_death_of(const RankEntry& dead);
    [[noreturn]] void end_after(const Hang& hang);
    [[noreturn]] void carry_out(const Ending& ending, const Reason& reason);
    void let_root_go_first() const;

    RankBoard& board_;
    StopRequest& stop_;
    HangWatch& hangs_;
    ShutdownHook& shutdown_hook_;
    std::string host_;
    std::optional<Instant> first_signal_;
    std::atomic<bool> over_{false};
    std::thread thread_;
};

}  // namespace sluice
