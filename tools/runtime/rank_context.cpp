#include "tools/runtime/rank_context.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "comm/crash_reports.hpp"
#include "core/commit/attempt_history.hpp"
#include "core/commit/held_folder.hpp"
#include "core/machine/cgroup.hpp"
#include "core/process/standard_error.hpp"

namespace sluice {

std::string RankContext::who() const {
    return session == nullptr ? std::string() : fmt::format("rank {} on {}", session->rank(), host);
}

std::uint64_t RankContext::memory_share() const {
    const std::uint64_t all = read_available_memory();
    if (session == nullptr) {
        return all;
    }
    session->node_barrier();  // none takes of it before all have looked
    return all / static_cast<std::uint64_t>(session->node_size());
}

void leave_notes_in(const RankContext& context, const std::filesystem::path& folder) {
    const HeldFolder held(folder, FolderTrust::only_mine);
    CrashReports::leave_behind(crash_file(folder, context.rank()));
    context.shutdown_hook.set_notes(
        {.lost_rank = [folder, held](
                          int rank, const std::string& cause,
                          const std::vector<std::uint64_t>& chunks) { note_lost_rank(folder, rank, cause, chunks); },
         .end = [folder, held](ExitCode code, const ErrorText& text) { note_end(folder, code, text); }});
}

void warn_once(const RankContext& context, const std::optional<ErrorText>& finding) {
    if (finding && context.board.claim_warning()) {
        ErrorText text = *finding;
        text.where = context.who();
        say(text);
    }
}

void print_once(const RankContext& context, const ErrorText& text) {
    if (context.board.claim_message()) {
        say(text);
    }
}

void end_now(const RankContext& context, ExitCode code) {
    context.board.mine().end_with(code);
    if (context.session != nullptr) {
        context.session->abort(code);
    }
    std::_Exit(static_cast<int>(code));
}

}  // namespace sluice
