#include "comm/chunk_server.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace sluice {

ChunkServer::ChunkServer(const ChunkGrid& grid, ReadAhead& input, OrderedResults& results,
                         const ChunkServerOptions& options)
    : grid_(grid),
      input_(input),
      results_(results),
      distribution_(options.distribution),
      tally_(options.tally),
      end_(grid.chunks()) {
    for (const std::uint32_t devices : options.devices_of_rank) {
        first_device_of_rank_.push_back(devices_);
        devices_ += devices;
    }
    waiting_.reserve(std::size_t{devices_} * options.depth);
    open_.reserve(results.window());  // a chunk is granted only when there is room for its results
    granted_fixed_.resize(devices_);
    blocked_in_pass_.resize(devices_);
}

void ChunkServer::request(const Requester& from) {
    expects(waiting_.size() < waiting_.capacity(), "ChunkServer: more requests than there are slots");
    const auto rank = static_cast<std::size_t>(from.rank);
    waiting_.push_back({from, first_device_of_rank_.at(rank) + from.device});
}

std::optional<Grant> ChunkServer::next_grant() {
    ++pass_;
    for (auto waiting = waiting_.begin(); waiting != waiting_.end(); ++waiting) {
        if (blocked_in_pass_[waiting->device_index] == pass_) {
            continue;  // an earlier request of this device waits for the same chunk, which may have come a moment ago
        }
        const std::optional<std::uint64_t> id = next_chunk_of(waiting->device_index);
        if (!id) {
            const Grant end{waiting->who, grid_.end(), {}};
            waiting_.erase(waiting);
            return end;
        }
        const auto items = results_.has_room(*id) ? input_.take(*id) : std::nullopt;
        if (items) {
            const Grant grant{waiting->who, grid_.at(*id), *items};
            ++next_pulled_;
            highest_granted_ = std::max(highest_granted_, *id + 1);
            ++granted_fixed_[waiting->device_index];
            open_.push_back({grant.chunk, grant.to.rank, tally_ == nullptr ? Instant() : Clock::now()});
            waiting_.erase(waiting);
            return grant;
        }
        if (distribution_ == Distribution::pull) {
            break;  // who came later would wait for the same chunk
        }
        blocked_in_pass_[waiting->device_index] = pass_;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> ChunkServer::next_chunk_of(std::uint32_t device_index) const {
    const std::optional<std::uint64_t> next =
        distribution_ == Distribution::fixed ? fixed_chunk(grid_, device_index, devices_, granted_fixed_[device_index])
                                             : std::optional(next_pulled_);
    return next && *next < end_ ? next : std::nullopt;
}

std::span<std::byte> ChunkServer::place(const Chunk& chunk, int rank) {
    static_cast<void>(find_open(chunk, rank));
    return results_.place(chunk.id);
}

void ChunkServer::arrived(const Chunk& chunk, int rank, std::uint64_t checksum) {
    Open& open = open_[find_open(chunk, rank)];
    if (tally_ != nullptr) {
        const Instant now = Clock::now();
        tally_->add(static_cast<std::size_t>(rank), chunk.count, now - open.granted, now);
    }
    open = open_.back();
    open_.pop_back();
    results_.arrived(chunk.id, {.rank = rank, .checksum = checksum});
}

std::size_t ChunkServer::find_open(const Chunk& chunk, int rank) const {
    const auto open =
        std::find_if(open_.begin(), open_.end(), [&](const Open& o) { return o.chunk == chunk && o.rank == rank; });
    expects(open != open_.end(), "ChunkServer: a result for a chunk that was not granted to this rank");
    return static_cast<std::size_t>(open - open_.begin());
}

}  // namespace sluice
