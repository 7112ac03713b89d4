#include "comm/crash_reports.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/process/standard_error.hpp"
#include "core/system/descriptor.hpp"

namespace sluice {
namespace {

constexpr std::array crash_signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

struct CrashReport {
    std::atomic<RankBoard*> board{nullptr};
    std::atomic<pid_t> reporter{0};  // thread that reports
    std::array<char, 256> host{};
    std::array<char, 4096> file{};
    std::atomic<bool> leaves_file{false};
    std::atomic<const GrantBook*> book{nullptr};
};
CrashReport crash_report;  // a signal handler can only access globals
std::array<std::byte, 65536> crash_stack;

/// As the hint of the preceding message.
void say_committed(const RankBoard& board) noexcept {
    constexpr std::string_view begin = "  hint: ";
    std::array<char, 192> line{};
    std::copy(begin.begin(), begin.end(), line.begin());
    const std::size_t length = board.describe_committed(RankBoard::LaterCommits::possible, line.data() + begin.size(),
                                                        line.size() - begin.size() - 1);
    if (length > 0) {
        line[begin.size() + length] = '\n';
        say_in_handler({line.data(), begin.size() + length + 1});
    }
}

/// Formats into a fixed buffer; async-signal-safe.
class CrashLine {
public:
    template <class... Values>
    void add(fmt::format_string<Values...> format, Values&&... values) noexcept {
        const auto end =
            fmt::format_to_n(text_.data() + length_, text_.size() - length_, format, std::forward<Values>(values)...);
        length_ = std::min(text_.size(), length_ + end.size);
    }
    [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), length_}; }
    void write_to(int file) const noexcept { write_all(file, std::as_bytes(std::span(text()))); }

private:
    std::array<char, 512> text_{};
    std::size_t length_ = 0;
};

/// "rank 2 on n07: died: SIGSEGV in compute of chunk 12".
void describe_crash(CrashLine& line, const RankEntry& entry, int signal) noexcept {
    const char* const name = sigabbrev_np(signal);
    line.add("rank {} on {}: died: SIG{}", entry.rank.load(), crash_report.host.data(), name == nullptr ? "?" : name);
    if (const std::uint64_t chunk = entry.chunk.load(); chunk != RankEntry::no_chunk) {
        line.add(" in {} of chunk {}", to_string(entry.stage.load()), chunk);
    }
    line.add("\n");
}

/// For the next attempt, in the format of note_lost_rank().
void leave_crash_file(const RankEntry& entry, int signal) noexcept {
    const int file = open(crash_report.file.data(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
        return;  // cannot be reported
    }
    CrashLine cause;
    cause.add("cause ");
    describe_crash(cause, entry, signal);
    cause.write_to(file);
    const auto note_chunk = [file](std::uint64_t chunk) {
        CrashLine line;
        line.add("chunk {}\n", chunk);
        line.write_to(file);
    };
    if (const std::uint64_t chunk = entry.chunk.load(); chunk != RankEntry::no_chunk) {
        note_chunk(chunk);
    }
    entry.for_each_open(note_chunk);
    if (const GrantBook* const book = crash_report.book.load()) {
        book->for_each_open([&](std::uint64_t chunk, int rank) {
            if (rank == entry.rank.load()) {
                note_chunk(chunk);
            }
        });
    }
    close(file);
}

/// Returns in the thread that came first, and in no other.
void report_alone() {
    pid_t first = 0;
    if (const pid_t me = ::gettid(); !crash_report.reporter.compare_exchange_strong(first, me) && first != me) {
        while (true) {
            ::pause();  // the default action would end the process, and with it the thread that still reports
        }
    }
}

void on_crash(int signal) {
    report_alone();
    RankBoard* const board = crash_report.board.exchange(nullptr);
    if (board != nullptr && board->claim_message()) {
        CrashLine line;
        line.add("sluice: error[E-RUN-001]: ");
        describe_crash(line, board->mine(), signal);
        say_in_handler(line.text());
        say_committed(*board);
    }
    if (board != nullptr && crash_report.leaves_file.load()) {
        leave_crash_file(board->mine(), signal);
    }
    ::signal(signal, SIG_DFL);
    raise(signal);
}

/// Of an app or a library: "STOP" in Fortran calls exit(0). Whatever code it chose, each of sluice's own promises
/// something else: 0 a complete output, 75 that the same command resumes. MPI may end a process so that has said that
/// it ends.
void on_early_exit(int status, void*) {
    RankBoard* const board = crash_report.board.load();
    if (board != nullptr && board->mine().ended.load() == 0) {
        report_alone();
        CrashLine line;
        line.add("sluice: exit({}) was called in the middle of the run, by the app or a library\n", status);
        say_in_handler(line.text());
        std::abort();
    }
}

}  // namespace

CrashReports::CrashReports(RankBoard& board, const std::string& host) {
    watch_exit();
    crash_report.board.store(&board);
    std::strncpy(crash_report.host.data(), host.c_str(), crash_report.host.size() - 1);
    // For the main thread only.
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

void CrashReports::watch_exit() {
    if (::on_exit(&on_early_exit, nullptr) != 0) {
        throw std::bad_alloc();
    }
}

void CrashReports::leave_behind(const std::filesystem::path& file) {
    expects(file.native().size() < crash_report.file.size(), "CrashReports: path too long");
    std::copy_n(file.c_str(), file.native().size() + 1, crash_report.file.begin());
    crash_report.leaves_file.store(true);
}

void CrashReports::set_book(const GrantBook* book) noexcept {
    crash_report.book.store(book);
}

}  // namespace sluice
