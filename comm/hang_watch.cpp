#include "comm/hang_watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace sluice {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr nanoseconds longest_step = 1s;  // between two looks that counts: beyond it, the process was suspended
constexpr nanoseconds root_is_well = 2s;  // maximum age of its last heartbeat on this node
constexpr nanoseconds root_goes_first = 3s;
constexpr std::uint64_t chunks_of_patience = 20;
constexpr nanoseconds longest_between_heartbeats = 10s;
constexpr int heartbeats_per_timeout = 4;
constexpr nanoseconds between_turns = 500ms;  // between ranks that report in turn what all of them see
constexpr int most_turns = 20;

nanoseconds limit_of_silence(nanoseconds timeout) {
    return timeout + heartbeat_interval(timeout) + longest_step;
}

/// How long an activity may work without progress: `timeout`, or if longer 20 times the p99 of its chunk times.
nanoseconds limit_of(const Activity::State& state, nanoseconds timeout) {
    return std::max(timeout, nanoseconds(chunks_of_patience * state.p99_ns));
}

std::string seconds_text(nanoseconds time) {
    return fmt::format("{:.1f} s", Seconds(time).count());
}

bool works(const StillActivity& still) {
    return still.activity.state.doing == Activity::Doing::work;
}

std::string line_of(const StillActivity& still) {
    return fmt::format("  {}, for {}\n", describe(still.activity), seconds_text(still.still));
}

/// The stuck line of describe_activities().
std::string stuck_line(const std::string& lines) {
    constexpr std::string_view begin = "  stuck: ";
    return lines.starts_with(begin) ? lines.substr(begin.size(), lines.find('\n') - begin.size()) : "a thread";
}

/// The writer also while it is at work: when it holds too much, until it knows how many items there are.
bool may_wait_for_index(const Activities::View& activity) {
    return activity.kind == ActivityKind::writer ||
           (activity.kind == ActivityKind::reader && activity.state.doing == Activity::Doing::wait);
}

/// Summary of a group's activities.
struct Group {
    nanoseconds still = nanoseconds::max();
    nanoseconds limit{0};
    const StillActivity* at_work = nullptr;  // the first: streams feed each other in order
};

std::map<std::uint32_t, Group> grouped(std::span<const StillActivity> activities, nanoseconds timeout) {
    std::map<std::uint32_t, Group> groups;
    for (const StillActivity& still : activities) {
        if (still.activity.state.doing == Activity::Doing::nothing) {
            continue;
        }
        Group& group = groups[still.activity.group];
        group.still = std::min(group.still, still.still);
        group.limit = std::max(group.limit, limit_of(still.activity.state, timeout));
        if (works(still) && group.at_work == nullptr) {
            group.at_work = &still;
        }
    }
    return groups;
}

}  // namespace

nanoseconds heartbeat_interval(nanoseconds timeout) {
    return timeout.count() == 0 ? longest_between_heartbeats
                                : std::min(longest_between_heartbeats, timeout / heartbeats_per_timeout);
}

const StillActivity* find_stuck(std::span<const StillActivity> activities, nanoseconds timeout) {
    const Group* worst = nullptr;
    const auto groups = grouped(activities, timeout);
    for (const auto& [number, group] : groups) {
        if (group.at_work != nullptr && group.still > group.limit && (worst == nullptr || group.still > worst->still)) {
            worst = &group;
        }
    }
    return worst == nullptr ? nullptr : worst->at_work;
}

bool stands_still(std::span<const StillActivity> activities, nanoseconds timeout) {
    return std::ranges::all_of(activities, [&](const StillActivity& still) {
        return still.activity.kind == ActivityKind::comm || still.activity.state.doing == Activity::Doing::nothing ||
               (!works(still) && still.still > timeout);
    });
}

HangWatch::HangWatch(RankBoard& board, const Activities& activities, std::string host)
    : board_(board), activities_(activities), host_(std::move(host)), beats_(board.size()) {}

void HangWatch::begin(HangWatchOptions options) {
    const std::lock_guard lock(mutex_);
    options_ = std::move(options);
    silences_.assign(options_.hosts.size(), {});
}

void HangWatch::end() {
    begin({});
}

std::optional<Hang> HangWatch::look(Instant now, RunPhase phase, std::optional<nanoseconds> run_delay) {
    const std::lock_guard lock(mutex_);
    const nanoseconds elapsed = std::min(last_look_ ? now - *last_look_ : nanoseconds(0), longest_step);
    const nanoseconds delayed = run_delay && last_run_delay_ ? *run_delay - *last_run_delay_ : nanoseconds(0);
    note_suspension(now, delayed);
    last_look_ = now;
    last_run_delay_ = run_delay;
    if (options_.book != nullptr) {
        options_.book->tick(now, delayed);
    }
    note(elapsed);
    const bool watches = options_.timeout.count() > 0;
    const bool serves = watches && phase == RunPhase::serving;
    const StillActivity* const stuck = serves ? find_stuck(still_, options_.timeout) : nullptr;
    stuck_since_ = stuck == nullptr ? nanoseconds(0) : stuck_since_ + elapsed;
    stuck_ = stuck == nullptr ? std::nullopt : std::optional<std::size_t>(stuck - still_.data());
    update_board(elapsed);
    std::optional<Hang> hang = watches ? find_hang_of_node() : std::nullopt;
    for (const auto& [may_look, find] :
         {std::pair(watches, &HangWatch::find_silent_root), std::pair(serves, &HangWatch::find_own_hang),
          std::pair(serves, &HangWatch::find_silent_rank), std::pair(serves, &HangWatch::find_standstill)}) {
        if (may_look && !hang) {
            hang = (this->*find)();
        }
    }
    return hang;
}

std::vector<Interval> HangWatch::suspensions(Instant now) {
    const std::lock_guard lock(mutex_);
    note_suspension(now, nanoseconds(0));
    return suspensions_;
}

/// If it has ended just now, or the thread then waited for a CPU, `delayed`. It may not have looked since; when it
/// does, that is the same one.
void HangWatch::note_suspension(Instant now, nanoseconds delayed) {
    const Instant end = now - delayed;
    if (!last_look_ || end - *last_look_ <= longest_step) {
        return;
    }
    const Instant begin = *last_look_ + look_interval;
    if (suspensions_.empty() || suspensions_.back().begin != begin) {
        suspensions_.push_back({begin, end});
    }
}

std::vector<std::uint64_t> HangWatch::chunks_of(const RankEntry& entry) {
    std::vector<std::uint64_t> chunks = chunks_of(entry.rank.load());
    const auto add = [&chunks](std::uint64_t chunk) {
        if (chunk != RankEntry::no_chunk && std::ranges::find(chunks, chunk) == chunks.end()) {
            chunks.push_back(chunk);
        }
    };
    add(entry.chunk.load());
    entry.for_each_open(add);
    return chunks;
}

std::vector<std::uint64_t> HangWatch::chunks_of(int rank) {
    const std::lock_guard lock(mutex_);
    return options_.book == nullptr ? std::vector<std::uint64_t>() : options_.book->held_by(rank);
}

void HangWatch::note(nanoseconds elapsed) {
    std::vector<Activities::View> views = activities_.look();
    activity_clocks_.resize(views.size());
    still_.clear();
    const bool is_indexing = options_.is_indexing && options_.is_indexing();
    for (std::size_t i = 0; i < views.size(); ++i) {
        const bool waits_for_index = is_indexing && may_wait_for_index(views[i]);
        activity_clocks_[i].see(views[i].state.moves, waits_for_index ? nanoseconds(0) : elapsed);
        still_.push_back({.activity = std::move(views[i]), .still = activity_clocks_[i].still()});
    }
    root_silence_.see(board_.mine().root_messages.load(), elapsed);
    for (std::size_t i = 0; i < board_.size(); ++i) {
        beats_[i].see(board_.at(i).beat.load(), elapsed);
    }
    if (options_.book != nullptr) {
        const std::vector<GrantBook::Rank> ranks = options_.book->ranks();
        for (std::size_t i = 0; i < silences_.size(); ++i) {
            silences_[i].see(ranks[i].messages, elapsed);
        }
    }
}

void HangWatch::update_board(nanoseconds elapsed) {
    RankEntry& mine = board_.mine();
    mine.beat.fetch_add(1);
    mine.say(describe_activities());
    mine.stuck.store(stuck_ ? 1 : 0);  // after the lines that say where
    since_heartbeat_ += elapsed;
    const bool computes = std::ranges::any_of(
        still_, [](const StillActivity& still) { return still.activity.kind == ActivityKind::device && works(still); });
    if (computes && !stuck_ && since_heartbeat_ >= heartbeat_interval(options_.timeout)) {
        mine.heartbeats.fetch_add(1);
        since_heartbeat_ = {};
    }
}

/// Rank 0 should end the job if it can: only it knows the job's progress.
nanoseconds HangWatch::head_start_of_root() const {
    const RankEntry* const root = board_.living_root();
    if (root == nullptr || root == &board_.mine()) {
        return {};
    }
    const nanoseconds still = beats_[static_cast<std::size_t>(root - &board_.at(0))].still();
    return still < root_is_well ? root_goes_first : nanoseconds(0);
}

std::optional<Hang> HangWatch::find_own_hang() const {
    if (!stuck_ || stuck_since_ < head_start_of_root()) {
        return std::nullopt;
    }
    return hang_of(board_.mine().rank.load(), describe_stuck() + ", and makes no progress");
}

std::optional<Hang> HangWatch::find_hang_of_node() const {
    const nanoseconds limit = options_.timeout + head_start_of_root();
    for (std::size_t i = 0; i < board_.size(); ++i) {
        const RankEntry& entry = board_.at(i);
        if (i == board_.my_place() || entry.pid.load() == 0 || entry.ended.load() != 0 || entry.beat.load() == 0) {
            continue;
        }
        if (beats_[i].still() > limit) {
            return hang_of(entry.rank.load(), fmt::format("its process has not been scheduled for {}: {}",
                                                          seconds_text(beats_[i].still()), activity(entry)));
        }
        if (entry.stuck.load() != 0 && board_.mine().rank.load() == 0) {
            return hang_of(entry.rank.load(), stuck_line(entry.said()) + ", and makes no progress");
        }
    }
    return std::nullopt;
}

std::optional<Hang> HangWatch::find_silent_rank() const {
    if (options_.book == nullptr) {
        return std::nullopt;
    }
    const nanoseconds limit = limit_of_silence(options_.timeout);
    for (const GrantBook::OpenGrant& grant : options_.book->open()) {  // oldest first
        const nanoseconds silent = silences_[static_cast<std::size_t>(grant.rank)].still();
        if (grant.rank != 0 && silent > limit) {
            if (const auto cause = options_.given_up ? options_.given_up() : std::nullopt) {
                return hang_of(0, fmt::format("other ranks have ended the job meanwhile: {}", *cause));
            }
            return hang_of(grant.rank, fmt::format("has sent no heartbeat for {}; it holds chunk {}",
                                                   seconds_text(silent), grant.chunk));
        }
    }
    return std::nullopt;
}

/// Rank 0 sends heartbeats even while it publishes. Ranks report in turn, and the first ends the job.
std::optional<Hang> HangWatch::find_silent_root() const {
    const RankEntry& mine = board_.mine();
    const nanoseconds silent = root_silence_.still();
    const nanoseconds turn = std::min(mine.rank.load(), most_turns) * between_turns;
    if (board_.find(0) != nullptr || root_silence_.moves() == 0 ||
        silent <= limit_of_silence(options_.timeout) + turn) {
        return std::nullopt;
    }
    return hang_of(0, fmt::format("has sent no heartbeat for {}", seconds_text(silent)));
}

/// Chunks are missing, no other rank holds one, and nothing here makes progress.
std::optional<Hang> HangWatch::find_standstill() const {
    if (options_.book == nullptr || std::ranges::any_of(options_.book->open(), [](auto& g) { return g.rank != 0; })) {
        return std::nullopt;
    }
    const auto waits_for_results = [](const StillActivity& still) {
        return still.activity.kind == ActivityKind::writer && still.activity.state.doing == Activity::Doing::wait;
    };
    const auto devices =
        std::ranges::count(still_, ActivityKind::device, [](const StillActivity& s) { return s.activity.kind; });
    const std::vector<GrantBook::Rank> ranks = options_.book->ranks();
    const bool all_have_begun =
        static_cast<std::size_t>(devices) == options_.devices &&
        std::all_of(ranks.begin() + 1, ranks.end(), [](auto& rank) { return rank.messages != 0; });
    if (!all_have_begun || std::ranges::none_of(still_, waits_for_results) || !stands_still(still_, options_.timeout)) {
        return std::nullopt;
    }
    return hang_of(0, fmt::format("no progress for {}, and all threads are waiting", seconds_text(options_.timeout)));
}

Hang HangWatch::hang_of(int rank, std::string what) const {
    std::string dump;
    for (const bool culprit : {true, false}) {
        for (std::size_t i = 0; i < board_.size(); ++i) {
            if ((board_.at(i).rank.load() == rank) == culprit) {
                dump += describe_place(i);
            }
        }
        if (culprit && rank == 0 && board_.find(0) == nullptr) {
            dump += fmt::format("{}: silent for {}\n", name_of(0), seconds_text(root_silence_.still()));
        }
        for (int other = 0; options_.book != nullptr && other < static_cast<int>(options_.hosts.size()); ++other) {
            if ((other == rank) == culprit) {
                dump += describe_books(other);
            }
        }
    }
    return {.rank = rank,
            .where = name_of(rank),
            .what = std::move(what),
            .dump = std::move(dump),
            .dump_file = dump_file()};
}

std::filesystem::path HangWatch::dump_file() const {
    const int me = board_.mine().rank.load();
    return options_.dump_folder.empty()
               ? std::filesystem::path()
               : options_.dump_folder / (me == 0 ? "dump.txt" : fmt::format("dump.{}.txt", me));
}

/// For a device, includes the working stream: the first one, since they feed each other in order.
std::string HangWatch::describe_stuck() const {
    const StillActivity& stuck = still_[*stuck_];
    std::string text = describe(stuck.activity);
    const auto stream = std::ranges::find_if(still_, [&](const StillActivity& still) {
        return still.activity.group == stuck.activity.group && still.activity.kind == ActivityKind::stream &&
               works(still);
    });
    if (stream != still_.end()) {
        text += fmt::format(", its {} busy", stream->activity.name);
    }
    return fmt::format("{} for {}", text, seconds_text(stuck.still));
}

std::string HangWatch::describe_activities() const {
    std::string lines;
    if (stuck_) {  // first, so that it is never truncated
        lines += fmt::format("  stuck: {}\n", describe_stuck());
    }
    for (const StillActivity& still : still_) {
        lines += line_of(still);
    }
    return lines;
}

std::string HangWatch::describe_place(std::size_t place) const {
    const RankEntry& entry = board_.at(place);
    const bool is_me = place == board_.my_place();
    const nanoseconds still = is_me ? nanoseconds(0) : beats_[place].still();
    return fmt::format("rank {} on {}, process {}: {}{}\n{}", entry.rank.load(), host_, entry.pid.load(),
                       activity(entry),
                       still > longest_step ? fmt::format("; not scheduled for {}; before", seconds_text(still)) : "",
                       is_me ? describe_activities() : entry.said());
}

std::string HangWatch::describe_books(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    const std::vector<std::uint64_t> held = options_.book->held_by(rank);
    const GrantBook::Rank returned = options_.book->ranks()[index];
    return fmt::format(
        "{}, as rank 0 knows it: {} chunks returned, holds {}{}\n", name_of(rank), returned.chunks,
        held.empty() ? "none" : fmt::format("{}", fmt::join(held, ", ")),
        rank == 0 ? std::string() : fmt::format(", silent for {}", seconds_text(silences_[index].still())));
}

std::string HangWatch::name_of(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return fmt::format("rank {} on {}", rank, index < options_.hosts.size() ? options_.hosts[index] : host_);
}

}  // namespace sluice
