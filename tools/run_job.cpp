#include "tools/run_job.hpp"

#include <optional>

#include "comm/watcher.hpp"
#include "core/machine.hpp"
#include "tools/rank_context.hpp"

namespace sluice {

int run(const std::filesystem::path& job_file, std::span<const Override> overrides, const RunOptions& options) {
    const Instant start = Clock::now();
    block_signals();
    const std::string host = host_name();
    Doorbell bell;
    StopRequest stop(bell);

    std::optional<MpiSession> session;
    std::optional<RankBoard> board;
    if (started_by_mpi_launcher()) {
        session.emplace();
        board.emplace(*session);
    } else {
        board.emplace();
    }
    report_crashes(&*board, host);
    RankContext context{.session = session ? &*session : nullptr,
                        .board = *board,
                        .bell = bell,
                        .stop = stop,
                        .host = host,
                        .start = start};
    int code = static_cast<int>(ExitCode::ok);
    {
        const Watcher watcher(*board, stop, host);
        if (context.rank() == 0) {
            run_root(context, job_file, overrides, options);
        } else {
            code = run_worker(context);
        }
    }
    report_crashes(nullptr, host);
    return code;
}

}  // namespace sluice
