#include "comm/rank_board.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <utility>

#include "comm/mpi_session.hpp"
#include "core/error.hpp"
#include "core/machine/launch.hpp"
#include "core/system/process_state.hpp"

namespace sluice {
namespace {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free,
              "the board is read across processes");

/// Gone, or a zombie not yet reaped.
bool is_gone(std::int32_t pid) noexcept {
    if (const std::optional<ProcessState> state = read_process_state(pid)) {
        return state->has_ended();
    }
    return kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace

void RankEntry::say(std::string_view lines) noexcept {
    const std::uint32_t next = 1 - complete_.load(std::memory_order_relaxed);
    const std::size_t length = std::min(lines.size(), most_text - 1);
    std::copy_n(lines.begin(), length, lines_[next].begin());
    lines_[next][length] = '\0';
    complete_.store(next, std::memory_order_release);
}

std::string RankEntry::said() const {
    return lines_[complete_.load(std::memory_order_acquire)].data();
}

std::string activity(const RankEntry& entry) {
    const std::uint64_t chunk = entry.chunk.load();
    return chunk == RankEntry::no_chunk ? std::string("waiting for a chunk")
                                        : fmt::format("in {} of chunk {}", to_string(entry.stage.load()), chunk);
}

void note_open_chunk(RankEntry& entry, const std::deque<Endpoint>& endpoints) noexcept {
    std::uint64_t oldest = RankEntry::no_chunk;
    Stage stage = Stage::scatter;
    std::uint32_t open = 0;
    for (const Endpoint& endpoint : endpoints) {
        endpoint.for_each_open([&](const Chunk& chunk) {
            if (open < RankEntry::most_open) {
                entry.open[open++].store(chunk.id, std::memory_order_relaxed);
            }
        });
        if (const auto chunk = endpoint.oldest_open()) {
            if (chunk->id < oldest) {
                oldest = chunk->id;
                stage = endpoint.oldest_open_is_leaving() ? Stage::gather : Stage::compute;
            }
        }
    }
    entry.open_count.store(open, std::memory_order_relaxed);
    entry.stage.store(stage, std::memory_order_relaxed);
    entry.chunk.store(oldest, std::memory_order_relaxed);
}

RankBoard::RankBoard() : RankBoard(NodeMemory::of_process(bytes_for(1)), 1, 0) {}

RankBoard::RankBoard(NodeMemory memory, std::size_t ranks, std::size_t place)
    : memory_(std::move(memory)), count_(ranks), mine_(place) {
    lay_out(memory_.bytes().data(), place == 0);
    take_place(static_cast<int>(place));
}

RankBoard::RankBoard(MpiSession& session)
    : count_(static_cast<std::size_t>(session.node_size())), mine_(static_cast<std::size_t>(session.node_rank())) {
    const std::size_t bytes = mine_ == 0 ? bytes_for(count_) : 0;
    void* base = nullptr;
    check_mpi(MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, session.node(), &base, &window_),
              "MPI_Win_allocate_shared");
    MPI_Aint size = 0;
    int unit = 0;
    check_mpi(MPI_Win_shared_query(window_, 0, &size, &unit, &base), "MPI_Win_shared_query");
    lay_out(static_cast<std::byte*>(base), mine_ == 0);
    session.node_barrier();
    take_place(session.rank());
}

void RankBoard::take_place(int rank) noexcept {
    struct stat space {};
    mine().rank.store(rank);
    mine().pid_space.store(::stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0);
    mine().pid.store(getpid());
}

/// Not known of a process in another namespace of process numbers, as of another container: then it is not.
bool RankBoard::is_dead(const RankEntry& entry) const noexcept {
    return entry.pid_space.load() == entries_[mine_].pid_space.load() && is_gone(entry.pid.load());
}

std::size_t RankBoard::bytes_for(std::size_t ranks) noexcept {
    return sizeof(Shared) + ranks * sizeof(RankEntry);
}

void RankBoard::lay_out(std::byte* memory, bool begins) {
    if (own_variable("SLUICE_RESUME")) {
        resumer_ = "another attempt";
    }
    std::byte* const entries = memory + sizeof(Shared);
    if (begins) {
        ::new (memory) Shared;
        for (std::size_t i = 0; i < count_; ++i) {
            ::new (entries + i * sizeof(RankEntry)) RankEntry;
        }
    }
    shared_ = std::launder(reinterpret_cast<Shared*>(memory));
    entries_ = std::launder(reinterpret_cast<RankEntry*>(entries));
}

RankBoard::~RankBoard() {
    if (window_ != MPI_WIN_NULL) {
        MPI_Win_free(&window_);
    }
}

const RankEntry* RankBoard::find_dead() const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
        const RankEntry& entry = entries_[i];
        if (i != mine_ && entry.pid.load() != 0 && entry.ended.load() == 0 && is_dead(entry) &&
            entry.ended.load() == 0) {
            return &entry;
        }
    }
    return nullptr;
}

const RankEntry* RankBoard::find(int rank) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
        if (entries_[i].pid.load() != 0 && entries_[i].rank.load() == rank) {
            return &entries_[i];
        }
    }
    return nullptr;
}

const RankEntry* RankBoard::living_root() const noexcept {
    const RankEntry* const root = find(0);
    return root == nullptr || root->ended.load() != 0 || is_dead(*root) ? nullptr : root;
}

const RankEntry* RankBoard::ended_root() const noexcept {
    const RankEntry* const root = find(0);
    const bool has_ended = root != nullptr && root->ended.load() != 0 && is_dead(*root);
    return has_ended && root->code.load() != ExitCode::ok ? root : nullptr;
}

void RankBoard::wait_for_turn(const std::stop_token& stop) noexcept {
    constexpr std::chrono::seconds at_most{10};  // turns are for speed: no rank may depend on another one's GPUs
    if (mine_ != 0) {
        mine().turn.wait(stop, at_most);
    }
}

void RankBoard::pass_turn_on() noexcept {
    if (mine_ + 1 < count_) {
        entries_[mine_ + 1].turn.give();
    }
}

void RankBoard::set_committed(const Committed& committed) noexcept {
    shared_->committed.store(committed.chunks, std::memory_order_relaxed);
    shared_->chunks.store(committed.all, std::memory_order_relaxed);
}

RankBoard::Committed RankBoard::committed() const noexcept {
    return {.chunks = shared_->committed.load(std::memory_order_relaxed),
            .all = shared_->chunks.load(std::memory_order_relaxed)};
}

std::size_t RankBoard::describe_committed(LaterCommits later, char* to, std::size_t room) const noexcept {
    const Committed now = committed();
    if (now.all == 0) {
        return 0;
    }
    const bool is_final = later == LaterCommits::none;
    const auto end =
        now.chunks == 0
            ? fmt::format_to_n(to, room, "nothing is committed yet: {} starts from the beginning{}", resumer_,
                               is_final ? "" : ", unless results are still committed as the job ends")
            : fmt::format_to_n(to, room, "{}{} of {} chunks are committed: {} resumes from there",
                               is_final ? "" : "at least ", now.chunks, now.all, resumer_);
    return std::min(end.size, room);
}

std::string RankBoard::describe_committed(LaterCommits later) const {
    std::array<char, 160> text{};
    return {text.data(), describe_committed(later, text.data(), text.size())};
}

}  // namespace sluice
