#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>

#include "comm/endpoint.hpp"
#include "core/trace.hpp"

namespace sluice {

class MpiSession;

/// What one rank is doing, in memory that the other ranks of its node can read even after it has died.
struct RankRecord {
    static constexpr std::uint64_t no_chunk = UINT64_MAX;

    std::atomic<std::int32_t> pid{0};  ///< 0: not there yet.
    std::atomic<std::int32_t> rank{0};
    std::atomic<std::uint32_t> ended{0};         ///< 1: it left on its own account.
    std::atomic<std::uint64_t> chunk{no_chunk};  ///< The oldest chunk that it was given and has not delivered.
    std::atomic<Stage> stage{Stage::scatter};    ///< Where that is: compute (from upload to download), or gather.
};

/// Notes what the devices behind `endpoints` work on.
void note_open_chunk(RankRecord& record, const std::deque<Endpoint>& endpoints) noexcept;

/// The records of a node's ranks. With MPI they lie in a shared window, alone in ordinary memory.
class RankBoard {
public:
    RankBoard();                              ///< A single process.
    explicit RankBoard(MpiSession& session);  ///< Collective over the node.
    ~RankBoard();
    RankBoard(const RankBoard&) = delete;
    RankBoard& operator=(const RankBoard&) = delete;

    [[nodiscard]] RankRecord& mine() noexcept { return records_[mine_]; }

    /// True for exactly one caller on the node: who gets it prints the one message.
    [[nodiscard]] bool claim_message() noexcept { return announced_->exchange(1) == 0; }

    /// The same for the one warning.
    [[nodiscard]] bool claim_warning() noexcept { return shared_->warned.exchange(1) == 0; }

    /// A rank of this node whose process is gone although it did not end; nullptr if there is none.
    [[nodiscard]] const RankRecord* find_dead() const noexcept;

    /// Rank 0's unfinished output: who notices rank 0's death removes it. Empty again once published.
    void set_scratch(const std::filesystem::path& path);
    void remove_scratch() noexcept;
    [[nodiscard]] bool has_scratch() const noexcept { return shared_->scratch[0] != '\0'; }

private:
    static constexpr std::size_t longest_path = 4096;
    struct alignas(RankRecord) Shared {  // the records follow it
        std::atomic<std::uint32_t> announced{0};
        std::atomic<std::uint32_t> warned{0};
        std::array<char, longest_path> scratch{};
    };

    void* memory_ = nullptr;  // Shared, then one RankRecord a rank of the node
    MPI_Win window_ = MPI_WIN_NULL;
    Shared* shared_ = nullptr;
    std::atomic<std::uint32_t>* announced_ = nullptr;
    RankRecord* records_ = nullptr;
    std::size_t count_ = 1;
    std::size_t mine_ = 0;
};

}  // namespace sluice
