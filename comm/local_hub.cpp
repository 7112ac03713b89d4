#include "comm/local_hub.hpp"

#include <algorithm>

#include "core/process/fault_point.hpp"

namespace sluice {

LocalHub::LocalHub(std::deque<Endpoint>& endpoints, ChunkServer& server, RankEntry& entry, CommTrace& trace)
    : endpoints_(endpoints), server_(server), entry_(entry), trace_(trace) {}

bool LocalHub::take_posts() {
    const bool moved = sluice::take_posts(
        endpoints_, [this](std::uint32_t device, const Post& post) { take(endpoints_[device], device, post); });
    note_open_chunk(entry_, endpoints_);
    return moved;
}

void LocalHub::take(Endpoint& endpoint, std::uint32_t device, const Post& post) {
    switch (post.kind) {
        case Post::Kind::request:
            server_.request({rank, device, post.slot});
            break;
        case Post::Kind::fetched:
            server_.release(post.chunk);
            break;
        case Post::Kind::deliver:
            take_delivery(endpoint, post);
            break;
        case Post::Kind::closed:
            ++closed_;
            if (endpoint.failure() != nullptr) {
                std::rethrow_exception(endpoint.failure());
            }
            break;
    }
}

void LocalHub::take_delivery(Endpoint& endpoint, const Post& post) {
    const Instant began = Clock::now();
    std::ranges::copy(post.from, server_.place(post.chunk, rank).begin());
    fault_delay("gather");
    server_.arrived(post.chunk, rank, post.checksum);
    trace_.gather.add(
        {.stage = Stage::gather, .busy = {began, Clock::now()}, .items = post.chunk.count, .bytes = post.from.size()});
    endpoint.complete_delivery();
}

void LocalHub::fulfil(const Grant& grant) {
    endpoints_[grant.to.device].answer({.chunk = grant.chunk, .began = Clock::now(), .items = grant.items});
    note_open_chunk(entry_, endpoints_);
    endpoints_[grant.to.device].complete_request();
}

}  // namespace sluice
