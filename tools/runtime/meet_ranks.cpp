#include "tools/runtime/meet_ranks.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "core/json_types.hpp"
#include "core/machine/provenance.hpp"

namespace sluice {
namespace {

/// Removes and returns the text before the first space, and removes the space.
std::string take_word(std::string& text) {
    std::string word = text.substr(0, text.find(' '));
    text.erase(0, word.size() + 1);
    return word;
}

/// Of jobs as in RankContext. All ranks would do rank 0's, and nobody the others.
void refuse_another_job(std::size_t rank, const std::string& job, const std::string& job_of_root) {
    if (job.empty() || job_of_root.empty() || job == job_of_root) {
        return;
    }
    const std::string file = job.substr(0, job.find('\n'));
    const std::string file_of_root = job_of_root.substr(0, job_of_root.find('\n'));
    throw Error(ExitCode::configuration,
                {.id = "E-MPI-072",
                 .what = file == file_of_root ? fmt::format("rank {} was started with another --set than rank 0", rank)
                                              : fmt::format("rank {} was started for {}, rank 0 for {}", rank,
                                                            quoted(file), quoted(file_of_root)),
                 .hint = "ranks do one job together: start each job by an srun or mpirun of its own"});
}

/// Parses a rank's greeting: build, instructions of its host devices and host, separated by spaces, and in the next
/// lines the job that it was started for. `job`: rank 0's.
void take_greeting(Meeting& meeting, std::string greeting, const std::string& job) {
    const std::string build = take_word(greeting);
    if (build != build_id()) {
        throw Error(ExitCode::configuration,
                    {.id = "E-MPI-070",
                     .where = fmt::format("rank {}", meeting.hosts.size()),
                     .what = fmt::format("runs build {} of sluice, rank 0 runs {}", escaped(build), build_id()),
                     .hint = "start the same binary on every node"});
    }
    meeting.instructions.push_back(find_host_instructions(take_word(greeting)).value_or(HostInstructions::sse41));
    const std::size_t end = greeting.find('\n');
    refuse_another_job(meeting.hosts.size(), greeting.substr(end + 1), job);
    meeting.hosts.push_back(greeting.substr(0, end));
}

}  // namespace

Meeting meet_ranks(const RankContext& context) {
    Meeting meeting;
    const PhaseTimer launch(context.phases, Phase::launch, context.start);
    const std::string mine =
        fmt::format("{} {} {}\n{}", build_id(), name_of(host_instructions()), context.host, context.job);
    if (context.session == nullptr) {
        take_greeting(meeting, mine, context.job);
        return meeting;
    }
    for (std::string& greeting : context.session->gather(mine)) {
        take_greeting(meeting, std::move(greeting), context.job);
    }
    meeting.clock = align_clock(*context.session);
    return meeting;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuWish, wanted, devices, bind)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobPlan, app, settings, precision, items, most_items, chunk_items, depth, depth_by,
                                   device, instructions, devices, bind, scatter, hang_timeout, drain_timeout,
                                   wants_trace, root_host, dump_folder, first_chunk)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RootAnnouncement, code, complete, wish, plan)

std::string encode(const RootAnnouncement& announcement) {
    return packed(announcement);
}

RootAnnouncement decode_announcement(const std::string& text) {
    return unpacked<RootAnnouncement>(text);
}

RootAnnouncement announce(const RankContext& context, const RootAnnouncement& mine) {
    if (context.session == nullptr) {
        return mine;
    }
    std::string text = context.rank() == 0 ? encode(mine) : std::string();
    context.session->broadcast(text);
    return decode_announcement(text);
}

}  // namespace sluice
