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

#include "core/descriptor.hpp"
#include "core/error.hpp"
#include "core/standard_error.hpp"
#include "core/trace/thread_usage.hpp"

namespace sluice {
namespace {

constexpr long look_every_ns = 200'000'000;
/// A launcher that ends the job because of a dead rank signals first, without a reason: how long to look for that rank.
constexpr int looks_after_signal = 4;
constexpr std::chrono::milliseconds look_after_signal{50};

/// A launcher and a resource manager may both pass on the same stop request.
constexpr std::chrono::seconds same_stop{1};

/// For rank 0's hook, and for the others' wait for rank 0's.
constexpr std::chrono::seconds longest_shutdown_hook{8};
constexpr std::chrono::seconds longest_dump{1};

sigset_t watched_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
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
        const std::timespec pause{.tv_sec = 0, .tv_nsec = look_every_ns};
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
            board_.mine().end_with(root->code.load());
            _exit(static_cast<int>(root->code.load()));
        }
        if (signal > 0) {
            obey(signal);
        }
        if (const auto hang = hangs_.look(Clock::now(), stop_.phase())) {
            end_after(*hang);
        }
    }
}

void Watcher::obey(int signal) {
    const Instant now = Clock::now();
    const bool again = stop_.signal() != 0;
    const bool preparing = stop_.phase() == RunPhase::preparing;
    const bool same_wish = !preparing || signal == stop_.signal();
    if (again && now - first_signal_ < same_stop && same_wish && !ends_after_root(signal)) {
        return;
    }
    // Slurm's signal before the time limit is no second one for a run that already stops for it or a drain request.
    if (again && signal == SIGUSR1 && stop_.reason() != StopReason::signal && first_signal_ == Instant{}) {
        first_signal_ = now;
        return;
    }
    // Rank 0 may already serve while this rank prepares, whose end would be a death: rank 0 drains or ends all ranks.
    const bool leaves_it_to_root = preparing && signal == SIGUSR1 && board_.mine().rank.load() != 0;
    if ((!preparing || leaves_it_to_root) && !again) {  // if all results are there: remembered for a second signal
        first_signal_ = now;
        stop_.ask(signal);
        // Now, because the launcher may kill this process next, which must not count as its death.
        shutdown_hook_.note_end(
            ExitCode::stopped_early,
            {.id = "E-RUN-075", .what = fmt::format("asked to stop by SIG{}", sigabbrev_np(signal))});
        return;
    }
    const std::string committed = board_.describe_committed();
    const ErrorText text{.id = "E-RUN-075",
                         .what = fmt::format("stopped by SIG{}{}", sigabbrev_np(signal),
                                             preparing ? " before the first chunk" : " at once"),
                         .hint = committed.empty() ? "run the same command again" : committed};
    if (board_.claim_message()) {
        say(text);
    }
    shutdown_hook_.note_end(ExitCode::stopped_early, {.id = "E-RUN-075", .what = "stopped at once by a signal"});
    if (preparing && signal == SIGUSR1) {  // launchers do not send SIGUSR1 after a death
        stop_.ask(signal);
        shutdown_hook_.note_stop(text);
    }
    board_.mine().end_with(ExitCode::stopped_early);
    _exit(static_cast<int>(ExitCode::stopped_early));
}

/// Rank 0 ended because it was asked to stop before its first chunk: ranks of other nodes only learn of it by srun's
/// SIGTERM, shortly after the SIGUSR1 that they got too.
bool Watcher::ends_after_root(int signal) {
    const RankEntry& mine = board_.mine();
    return signal == SIGTERM && stop_.signal() == SIGUSR1 && stop_.phase() == RunPhase::serving &&
           mine.rank.load() != 0 && mine.root_messages.load() == 0;
}

void Watcher::end_after_death_of(const RankEntry& dead) {
    const std::string committed = board_.describe_committed();
    const ErrorText text{.id = "E-RUN-001",
                         .where = fmt::format("rank {} on {}", dead.rank.load(), host_),
                         .what = fmt::format("died: killed or out of memory, {}", activity(dead)),
                         .hint = fmt::format("look for SIGKILL or oom_kill in the node's log{}{}",
                                             committed.empty() ? "" : "; at least ", committed)};
    if (board_.claim_message()) {
        say(text);
    }
    if (board_.mine().rank.load() == 0 || board_.living_root() == nullptr) {  // rank 0 knows more about what it held
        shutdown_hook_.note_lost_rank(dead.rank.load(), text.where + " " + text.what, hangs_.chunks_of(dead));
    }
    shutdown_hook_.run(text, longest_shutdown_hook);
    let_root_go_first();
    _exit(static_cast<int>(ExitCode::internal));  // the launcher ends the ranks of other nodes
}

void Watcher::end_after(const Hang& hang) {
    if (!board_.claim_message()) {
        let_root_go_first();
        _exit(static_cast<int>(ExitCode::communication));
    }
    const bool written =
        !hang.dump_file.empty() && run_for(longest_dump, [hang] { append_to(hang.dump_file, hang.dump); });
    const std::string committed = board_.describe_committed();
    const ErrorText text{.id = "E-RUN-076",
                         .where = hang.where,
                         .what = "hangs: " + hang.what,
                         .hint = fmt::format("{}{}{}who waits for what{}:", committed.empty() ? "" : "at least ",
                                             committed, committed.empty() ? "" : "; ",
                                             written ? ", also in " + escaped(hang.dump_file.native()) : "")};
    say(text);
    say(hang.dump);
    const RankEntry* const entry = board_.find(hang.rank);
    shutdown_hook_.note_lost_rank(hang.rank, hang.where + " " + text.what,
                                  entry == nullptr ? hangs_.chunks_of(hang.rank) : hangs_.chunks_of(*entry));
    shutdown_hook_.run(text, longest_shutdown_hook);
    // The others do not treat this as a death, and the launcher gets this code first.
    board_.mine().end_with(ExitCode::communication);
    _exit(static_cast<int>(ExitCode::communication));
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
