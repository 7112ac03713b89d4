#pragma once

#include <filesystem>
#include <string>

#include "comm/grant_book.hpp"
#include "comm/rank_board.hpp"

namespace sluice {

/// While it lives, a crash of this process (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) prints one line with rank, host,
/// stage and chunk before the signal's default action. A call of exit() is a crash by SIGABRT, too, unless the rank's
/// entry says that it has ended: each exit code promises something that only sluice can keep. At most one instance at a
/// time.
class CrashReports {
public:
    /// `board` outlives it.
    CrashReports(RankBoard& board, const std::string& host);
    ~CrashReports();

    CrashReports(const CrashReports&) = delete;
    CrashReports& operator=(const CrashReports&) = delete;

    /// exit() destroys global objects from the newest to the oldest, and would take them from threads that work: it is
    /// seen before those that exist now are destroyed. A call of any thread, when it has what it works with.
    static void watch_exit();

    /// From now on a crash also writes `file`, for the next attempt: the line, and the chunks that this rank held.
    static void leave_behind(const std::filesystem::path& file);

    /// Rank 0's book, which names chunks that it holds as well; null: none. Reset it before `book` ends.
    static void set_book(const GrantBook* book) noexcept;
};

}  // namespace sluice
