#include "core/packed_weights.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::size_t alignment = 64;  // a cache line: no vector load of a row straddles two

/// Calls `work` on up to `threads` threads, the caller's among them; throws what one of them threw.
template <class Work>
void on_threads(std::size_t threads, const Work& work) {
    std::exception_ptr failure;
    std::mutex mutex;
    const auto guarded = [&] {
        try {
            work();
        } catch (...) {
            const std::scoped_lock lock(mutex);
            failure = failure == nullptr ? std::current_exception() : failure;
        }
    };
    {
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < threads; ++i) {
            others.emplace_back(guarded);
        }
        guarded();
    }
    if (failure != nullptr) {
        std::rethrow_exception(failure);
    }
}

}  // namespace

const std::byte* PackedWeights::Room::data() const {
    expects(owner_ != nullptr && owner_->memory_.bytes().size() == owner_->bytes_, "weights: used before packing");
    return owner_->memory_.bytes().data() + offset_;
}

PackedWeights::Room PackedWeights::reserve(std::size_t bytes, std::vector<Part> parts) {
    expects(memory_.bytes().empty(), "weights: reserved after packing");
    const std::size_t offset = bytes_;
    bytes_ += (bytes + alignment - 1) / alignment * alignment;
    for (Part& part : parts) {
        tasks_.push_back({offset, std::move(part)});
    }
    return {*this, offset};
}

void PackedWeights::pack(NodeMemory memory, const Share& share, std::uint32_t threads) {
    expects(memory.bytes().size() == bytes_ && memory_.bytes().empty() && share.rank < share.ranks,
            "weights: packed twice, or into memory of the wrong size");
    std::atomic<std::size_t> next{share.rank};
    const std::size_t mine = (tasks_.size() + share.ranks - 1 - share.rank) / share.ranks;
    on_threads(std::min<std::size_t>(threads, mine), [&] {
        for (std::size_t i = next.fetch_add(share.ranks); i < tasks_.size(); i = next.fetch_add(share.ranks)) {
            tasks_[i].part(memory.bytes().data() + tasks_[i].offset);
        }
    });
    memory_ = std::move(memory);
    tasks_ = {};
}

}  // namespace sluice
