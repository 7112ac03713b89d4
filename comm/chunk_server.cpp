#include "comm/chunk_server.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "core/files/checksum.hpp"

namespace sluice {

ChunkServer::ChunkServer(const ChunkGrid& grid, ReadAhead& input, OrderedResults& results,
                         const ChunkServerOptions& options)
    : grid_(grid),
      input_(input),
      results_(results),
      distribution_(options.distribution),
      book_(results.window(), options.devices_of_rank.size()),  // granted only where there is room for the results
      queues_(std::accumulate(options.devices_of_rank.begin(), options.devices_of_rank.end(), std::size_t{0}),
              results.window(), options.lag),
      end_(grid.chunks()),
      highest_granted_(grid.begin()),
      next_pulled_(grid.begin()) {
    for (const std::uint32_t devices : options.devices_of_rank) {
        first_device_of_rank_.push_back(devices_);
        devices_ += devices;
    }
    waiting_.reserve(std::size_t{devices_} * options.depth);
    granted_fixed_.resize(devices_);
    blocked_in_pass_.resize(devices_);
}

void ChunkServer::request(const Requester& from) {
    expects(waiting_.size() < waiting_.capacity(), "ChunkServer: more requests than there are slots");
    const auto rank = static_cast<std::size_t>(from.rank);
    waiting_.push_back({from, first_device_of_rank_.at(rank) + from.device});
    heard(from.rank);
}

std::optional<Grant> ChunkServer::next_grant(Instant now) {
    ++pass_;
    take_end();
    for (auto waiting = waiting_.begin(); waiting != waiting_.end(); ++waiting) {
        if (blocked_in_pass_[waiting->device_index] == pass_) {
            continue;  // an earlier request of this device waits: the same chunk may have just arrived
        }
        std::optional<std::uint64_t> id = next_chunk_of(waiting->device_index);
        while (id && take_known(*id, waiting->device_index)) {
            id = next_chunk_of(waiting->device_index);
        }
        if (!id) {
            const Grant end{waiting->who, grid_.end(), {}};
            waiting_.erase(waiting);
            return end;
        }
        if (has_to_wait(waiting->device_index)) {
            blocked_in_pass_[waiting->device_index] = pass_;
            continue;
        }
        const bool can_go = results_.has_room(*id) && !known_.contains(*id);
        const auto items = can_go ? take(*id) : std::nullopt;
        if (items) {
            const Grant grant{waiting->who, grid_.at(*id), *items};
            count_grant(*id, waiting->device_index);
            book_.granted(grant.chunk, grant.to.rank, now);
            queues_.granted(*id, waiting->device_index, book_.running_time(now));
            waiting_.erase(waiting);
            return grant;
        }
        if (distribution_ == Distribution::pull) {
            break;  // later requests would wait for the same chunk
        }
        blocked_in_pass_[waiting->device_index] = pass_;
    }
    return std::nullopt;
}

/// Whether items end before the grid does shows only when they have all been indexed.
void ChunkServer::take_end() {
    if (const std::uint64_t items = input_.items(); items != grid_.items()) {
        grid_ = ChunkGrid(items, grid_.chunk_items()).from(grid_.begin());
        end_ = std::min(end_, grid_.chunks());
    }
}

/// The items of a chunk, which is in the grid as it then is: a reader may have found the end meanwhile, of which the
/// number of items depends.
std::optional<std::span<const std::byte>> ChunkServer::take(std::uint64_t id) {
    const auto items = input_.take(id);
    if (items) {
        take_end();
    }
    return items;
}

/// Returns false if its outputs are not known, or it is not its turn yet.
bool ChunkServer::take_known(std::uint64_t id, std::uint32_t device_index) {
    const auto known = known_.find(id);
    if (known == known_.end() || !results_.has_room(id) || !take(id)) {
        return false;
    }
    count_grant(id, device_index);
    const std::vector<std::byte> outputs = std::move(known->second);
    known_.erase(known);
    std::ranges::copy(outputs, results_.place(grid_.at(id)).begin());
    input_.release(id);
    results_.arrived(id, {.rank = 0, .checksum = checksum_of(outputs)});
    return true;
}

void ChunkServer::count_grant(std::uint64_t id, std::uint32_t device_index) {
    ++next_pulled_;
    highest_granted_ = std::max(highest_granted_, id + 1);
    ++granted_fixed_[device_index];
    results_.note_cut(id, input_.cut_texts(id));
}

std::optional<std::uint64_t> ChunkServer::next_chunk_of(std::uint32_t device_index) const {
    const std::optional<std::uint64_t> next =
        distribution_ == Distribution::fixed ? fixed_chunk(grid_, device_index, devices_, granted_fixed_[device_index])
                                             : std::optional(next_pulled_);
    return next && *next < end_ ? next : std::nullopt;
}

bool ChunkServer::has_to_wait(std::uint32_t device_index) const {
    return distribution_ == Distribution::pull && queues_.has_to_wait(device_index, end_ - next_pulled_);
}

std::span<std::byte> ChunkServer::place(const Chunk& chunk, int rank) {
    book_.check_holds(chunk, rank);
    return results_.place(chunk);
}

void ChunkServer::arrived(const Chunk& chunk, int rank, std::uint64_t checksum, Instant now) {
    book_.returned(chunk, rank, now);
    queues_.returned(chunk.id, book_.running_time(now));
    results_.arrived(chunk.id, {.rank = rank, .checksum = checksum});
}

}  // namespace sluice
