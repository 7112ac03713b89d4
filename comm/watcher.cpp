#include "comm/watcher.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr long look_every_ns = 200'000'000;
/// A launcher that ends the job because of a dead rank signals first and tells nothing: so long it is searched for.
constexpr int looks_after_signal = 4;
constexpr long look_after_signal_ns = 50'000'000;

/// A launcher and a resource manager may both pass on what is one wish to stop.
constexpr std::chrono::seconds same_stop{1};

constexpr std::array crash_signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

sigset_t watched_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
        sigaddset(&set, signal);
    }
    return set;
}

void write_to_stderr(const char* text, std::size_t length) noexcept {
    while (length > 0) {
        const ssize_t written = write(STDERR_FILENO, text, length);
        if (written < 0) {
            return;  // nobody reads it: nothing more can be said
        }
        text += written;
        length -= static_cast<std::size_t>(written);
    }
}

void say(const ErrorText& text) {
    const std::string lines = render(text) + "\n";
    write_to_stderr(lines.data(), lines.size());
}

std::string activity(const RankRecord& record) {
    const std::uint64_t chunk = record.chunk.load();
    return chunk == RankRecord::no_chunk ? std::string("waiting for a chunk")
                                         : fmt::format("in {} of chunk {}", to_string(record.stage.load()), chunk);
}

struct CrashReport {
    std::atomic<RankBoard*> board{nullptr};
    std::array<char, 256> host{};
};
CrashReport crash_report;  // a signal handler reaches nothing but globals
std::array<std::byte, 65536> crash_stack;

/// As the hint of the message before.
void say_committed(const RankBoard& board) noexcept {
    constexpr std::string_view begin = "  hint: ";
    std::array<char, 192> line{};
    std::copy(begin.begin(), begin.end(), line.begin());
    const std::size_t length = board.describe_committed(line.data() + begin.size(), line.size() - begin.size() - 1);
    if (length > 0) {
        line[begin.size() + length] = '\n';
        write_to_stderr(line.data(), begin.size() + length + 1);
    }
}

/// Only what signal-safety(7) allows, and formatting into fixed memory.
void on_crash(int signal) {
    RankBoard* const board = crash_report.board.exchange(nullptr);
    if (board != nullptr && board->claim_message()) {
        const RankRecord& record = board->mine();
        const std::uint64_t chunk = record.chunk.load();
        std::array<char, 512> line{};
        const char* const name = sigabbrev_np(signal);
        auto end =
            fmt::format_to_n(line.data(), line.size() - 1, "sluice: error[E-RUN-001]: rank {} on {}: died: SIG{}",
                             record.rank.load(), crash_report.host.data(), name == nullptr ? "?" : name);
        std::size_t length = std::min(end.size, line.size() - 1);
        if (chunk != RankRecord::no_chunk) {
            end = fmt::format_to_n(line.data() + length, line.size() - 1 - length, " in {} of chunk {}",
                                   to_string(record.stage.load()), chunk);
            length = std::min(length + end.size, line.size() - 1);
        }
        line[length++] = '\n';
        write_to_stderr(line.data(), length);
        say_committed(*board);
    }
    ::signal(signal, SIG_DFL);
    raise(signal);
}

}  // namespace

void block_signals() {
    const sigset_t set = watched_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Watcher::Watcher(RankBoard& board, StopRequest& stop, std::string host)
    : board_(board), stop_(stop), host_(std::move(host)) {
    thread_ = std::thread([this] { watch(); });
}

Watcher::~Watcher() {
    board_.mine().ended.store(1);
    over_.store(true);
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
}

void Watcher::watch() {
    const sigset_t set = watched_signals();
    while (!over_.load()) {
        const std::timespec pause{.tv_sec = 0, .tv_nsec = look_every_ns};
        const int signal = sigtimedwait(&set, nullptr, &pause);
        if (over_.load()) {
            return;
        }
        const int looks = signal > 0 ? looks_after_signal : 1;
        for (int i = 0; i < looks; ++i) {
            if (const RankRecord* dead = board_.find_dead()) {
                end_after_death_of(*dead);
            }
            if (i + 1 < looks) {
                const std::timespec moment{.tv_sec = 0, .tv_nsec = look_after_signal_ns};
                nanosleep(&moment, nullptr);
            }
        }
        if (signal > 0) {
            obey(signal);
        }
    }
}

void Watcher::obey(int signal) {
    const Instant now = Clock::now();
    const bool again = stop_.signal() != 0;
    if (again && now - first_signal_ < same_stop) {
        return;
    }
    if (stop_.phase() != RunPhase::preparing && !again) {  // all results there: remembered, for a second one
        first_signal_ = now;
        stop_.ask(signal);
        return;
    }
    if (board_.claim_message()) {
        const std::string committed = board_.describe_committed();
        say({.id = "E-RUN-075",
             .what = fmt::format("stopped by SIG{}{}", sigabbrev_np(signal),
                                 stop_.phase() == RunPhase::preparing ? " before the first chunk" : " at once"),
             .hint = committed.empty() ? "run the same command again" : committed});
    }
    board_.mine().ended.store(1);
    _exit(static_cast<int>(ExitCode::stopped_early));
}

void Watcher::end_after_death_of(const RankRecord& dead) {
    if (board_.claim_message()) {
        const std::string committed = board_.describe_committed();
        const ErrorText text{.id = "E-RUN-001",
                             .where = fmt::format("rank {} on {}", dead.rank.load(), host_),
                             .what = fmt::format("died: killed or out of memory, {}", activity(dead)),
                             .hint = fmt::format("look for SIGKILL or oom_kill in the node's log{}{}",
                                                 committed.empty() ? "" : "; ", committed)};
        say(text);
    }
    _exit(static_cast<int>(ExitCode::internal));  // the launcher ends the ranks of other nodes
}

CrashReports::CrashReports(RankBoard& board, const std::string& host) {
    crash_report.board.store(&board);
    std::strncpy(crash_report.host.data(), host.c_str(), crash_report.host.size() - 1);
    // Of the main thread alone.
    const stack_t stack{.ss_sp = crash_stack.data(), .ss_flags = 0, .ss_size = crash_stack.size()};
    sigaltstack(&stack, nullptr);
    for (const int signal : crash_signals) {
        struct sigaction action {};
        action.sa_handler = &on_crash;
        action.sa_flags = SA_ONSTACK | SA_NODEFER;
        sigaction(signal, &action, nullptr);
    }
}

CrashReports::~CrashReports() {
    crash_report.board.store(nullptr);
}

}  // namespace sluice
