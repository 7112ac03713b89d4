#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "comm/hang_watch.hpp"
#include "comm/mpi_session.hpp"
#include "comm/rank_board.hpp"
#include "comm/shutdown_hook.hpp"
#include "core/app.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/machine/cgroup.hpp"
#include "core/sync/doorbell.hpp"
#include "core/sync/stop_request.hpp"
#include "core/trace/activities.hpp"
#include "core/trace/trace.hpp"

namespace sluice {

/// Constants of one process of a job. Everything it refers to outlives it.
struct RankContext {
    const Apps& apps;
    MpiSession* session = nullptr;  ///< Null in a single process.
    RankBoard& board;
    Doorbell& bell;  ///< The comm thread's.
    StopRequest& stop;
    Activities& activities;
    HangWatch& hangs;
    ShutdownHook& shutdown_hook;
    PhaseLog& phases;
    const ThrottleMeter& throttling;  ///< Counts since the start.
    std::string host;
    std::string job{};  ///< As this rank's command line names it: RunOptions::named.
    Instant start{};

    [[nodiscard]] int rank() const { return session == nullptr ? 0 : session->rank(); }

    /// Share of the node's memory available to the job now, in bytes. Collective among the node's ranks.
    [[nodiscard]] std::uint64_t memory_share() const;

    /// "rank 2 on n07"; empty in a single process.
    [[nodiscard]] std::string who() const;
};

/// From now on the end of this process, and of others as far as it sees, is recorded in this attempt's folder, which is
/// held until then. Throws Error as HeldFolder.
void leave_notes_in(const RankContext& context, const std::filesystem::path& folder);

/// Prints `finding`, if any, as the node's only warning.
void warn_once(const RankContext& context, const std::optional<ErrorText>& finding);

/// Prints `text` as the job's only message, unless one was already printed on this node.
void print_once(const RankContext& context, const ErrorText& text);

/// Ends this process and all ranks with `code`, without waiting for other threads.
[[noreturn]] void end_now(const RankContext& context, ExitCode code);

}  // namespace sluice
