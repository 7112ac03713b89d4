#include "comm/watcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/error.hpp"
#include "core/process/standard_error.hpp"
#include "core/system/descriptor.hpp"
#include "core/trace/thread_usage.hpp"

namespace sluice {
namespace {

/// A launcher that ends the job because of a dead rank signals first, without a reason: how long to look for that rank.
constexpr int looks_after_signal = 4;
constexpr std::chrono::milliseconds look_after_signal{50};

/// For rank 0's hook, and for the others' wait for rank 0's.
constexpr std::chrono::seconds longest_shutdown_hook{8};
constexpr std::chrono::seconds longest_dump{1};

sigset_t watched_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGXCPU}) {
        sigaddset(&set, signal);
    }
    return set;
}

/// Follows no link and does not block on a pipe without a reader. Errors are ignored: the process is about to end.
void append_to(const std::filesystem::path& path, const std::string& text) {
    constexpr mode_t private_mode = 0600;
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const Descriptor file(open(path.c_str(), flags, private_mode));
    write_all(file.number(), std::as_bytes(std::span(text)));
}

}  // namespace

void block_signals() {
    const sigset_t set = watched_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Watcher::Watcher(RankBoard& board, StopRequest& stop, HangWatch& hangs, ShutdownHook& shutdown_hook, std::string host)
    : board_(board), stop_(stop), hangs_(hangs), shutdown_hook_(shutdown_hook), host_(std::move(host)) {
    thread_ = std::thread([this] { watch(); });
}

Watcher::~Watcher() {
    board_.mine().ended.store(1);
    over_.store(true);
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
}

void Watcher::watch() {
    name_this_thread("watcher");
    const sigset_t set = watched_signals();
    while (!over_.load()) {
        const std::timespec pause{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(look_interval).count()};
        const int signal = sigtimedwait(&set, nullptr, &pause);
        if (over_.load()) {
            return;
        }
        const int looks = signal > 0 ? looks_after_signal : 1;
        for (int i = 0; i < looks; ++i) {
            if (const RankEntry* dead = board_.find_dead()) {
                end_after_death_of(*dead);
            }
            if (i + 1 < looks) {
                std::this_thread::sleep_for(look_after_signal);
            }
        }
        // Under srun the other ranks live on for Slurm's KillWait time.
        if (const RankEntry* root = board_.ended_root()) {
            carry_out(decide_end({.cause = EndCause::root_gone, .code = root->code.load()}), {});
        }
        if (signal > 0) {
            obey(signal);
        }
        if (const auto hang = hangs_.look(Clock::now(), stop_.phase(), read_run_delay())) {
            end_after(*hang);
        }
    }
}

bool Watcher::is_root() {
    return board_.mine().rank.load() == 0;
}

void Watcher::obey(int signal) {
    const Instant now = Clock::now();
    const RunPhase phase = stop_.phase();
    switch (answer_signal({.signal = signal,
                           .phase = phase,
                           .is_root = is_root(),
                           .hears_root = board_.mine().root_messages.load() != 0,
                           .asked = stop_.signal(),
                           .reason = stop_.reason(),
                           .since_first = first_signal_ ? std::optional(now - *first_signal_) : std::nullopt})) {
        case SignalAnswer::ignore:
            return;
        case SignalAnswer::remember:
            first_signal_ = now;
            return;
        case SignalAnswer::drain:
            first_signal_ = now;
            // Now, because the launcher may kill this process next, which must not count as its death; and not beside
            // the run's end, which may take the folder away.
            shutdown_hook_.note_end(
                ExitCode::stopped_early,
                {.id = "E-RUN-075", .what = fmt::format("asked to stop by SIG{}", sigabbrev_np(signal))});
            stop_.ask(signal);
            return;
        case SignalAnswer::end:
            end_at_once(signal, phase);
    }
}

void Watcher::end_at_once(int signal, RunPhase phase) {
    const std::string committed = board_.describe_committed(RankBoard::LaterCommits::none);
    const ErrorText text{.id = "E-RUN-075",
                         .what = fmt::format("stopped by SIG{}{}", sigabbrev_np(signal),
                                             phase == RunPhase::preparing ? " before the first chunk" : " at once"),
                         .hint = committed.empty() ? "run the same command again" : committed};
    carry_out(decide_end({.cause = EndCause::signal, .is_root = is_root(), .signal = signal, .phase = phase}),
              {.text = text, .note = {.id = text.id, .what = "stopped at once by a signal"}, .signal = signal});
}

void Watcher::end_after_death_of(const RankEntry& dead) {
    const bool root_knows = board_.living_root() != nullptr || board_.ended_root() != nullptr;
    const std::string committed = board_.describe_committed(RankBoard::LaterCommits::possible);
    const ErrorText text{.id = "E-RUN-001",
                         .where = fmt::format("rank {} on {}", dead.rank.load(), host_),
                         .what = fmt::format("died: killed or out of memory, {}", activity(dead)),
                         .hint = fmt::format("look for SIGKILL or oom_kill in the node's log{}{}",
                                             committed.empty() ? "" : "; ", committed)};
    carry_out(decide_end({.cause = EndCause::death, .is_root = is_root(), .root_knows = root_knows}),
              {.text = text, .lost_rank = dead.rank.load(), .lost_chunks = hangs_.chunks_of(dead)});
}

void Watcher::end_after(const Hang& hang) {
    if (!board_.claim_message()) {
        carry_out(decide_end({.cause = EndCause::told_hang, .is_root = is_root()}), {});
    }
    const bool written =
        !hang.dump_file.empty() && run_for(longest_dump, [hang] { append_to(hang.dump_file, hang.dump); });
    const std::string committed = board_.describe_committed(RankBoard::LaterCommits::possible);
    const ErrorText text{
        .id = "E-RUN-076",
        .where = hang.where,
        .what = "hangs: " + hang.what,
        .hint = fmt::format("{}{}{}", committed, committed.empty() || !written ? "" : "; ",
                            written ? escaped(hang.dump_file.native()) + " says who waits for what" : "")};
    const RankEntry* const entry = board_.find(hang.rank);
    carry_out(decide_end({.cause = EndCause::hang, .is_root = is_root()}),
              {.text = text,
               .is_claimed = true,
               .dump = hang.dump,
               .lost_rank = hang.rank,
               .lost_chunks = entry == nullptr ? hangs_.chunks_of(hang.rank) : hangs_.chunks_of(*entry)});
}

void Watcher::carry_out(const Ending& ending, const Reason& reason) {
    if (ending.is_said && (reason.is_claimed || board_.claim_message())) {
        say(reason.text);
        if (!reason.dump.empty()) {
            say("who waits for what:\n" + reason.dump);
        }
    }
    if (ending.notes_end) {
        shutdown_hook_.note_end(ending.code, reason.note);
    }
    if (ending.notes_loss) {
        shutdown_hook_.note_lost_rank(reason.lost_rank, reason.text.where + " " + reason.text.what, reason.lost_chunks);
    }
    if (ending.saves == Ending::Saves::status) {
        stop_.ask(reason.signal);  // which the status names
        shutdown_hook_.note_stop(reason.text);
    } else if (ending.saves != Ending::Saves::nothing) {
        shutdown_hook_.run(ending.code, reason.text, longest_shutdown_hook);
    }
    if (ending.waits_for_root) {
        let_root_go_first();
    }
    board_.mine().end_with(ending.code);  // to the others of the node this is no death
    _exit(static_cast<int>(ending.code));
}

/// The first process to end makes the launcher end all others, and rank 0 has to write before that.
void Watcher::let_root_go_first() const {
    const Instant end = Clock::now() + longest_shutdown_hook;
    while (Clock::now() < end) {
        const RankEntry* const root = board_.living_root();
        if (root == nullptr || root == &board_.mine()) {
            return;
        }
        std::this_thread::sleep_for(look_after_signal);
    }
}

}  // namespace sluice
