#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "comm/hang_watch.hpp"
#include "comm/rank_board.hpp"
#include "comm/shutdown_hook.hpp"
#include "core/clock.hpp"
#include "core/sync/stop_request.hpp"

namespace sluice {

/// Blocks SIGTERM, SIGINT and SIGUSR1 for the calling thread and those it starts, so that only a Watcher receives them.
/// They stay blocked: a launcher that signals because one rank failed must not end another before it has printed its
/// message. Call before the first thread is started.
void block_signals();

/// A thread that turns signals into a StopRequest. At a second signal, or while no one polls the request, it ends the
/// process at once; committed output is kept. In the latter case a first SIGUSR1 ends only rank 0, which ends the
/// others. It also detects when another rank of the node has died or a rank hangs: it prints which one, where and in
/// which work, once per node, and ends this process, which ends the job. Before that, rank 0 runs the shutdown hook;
/// others let rank 0 go first.
class Watcher {
public:
    /// All references outlive it. `host` is for messages.
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

}  // namespace sluice
