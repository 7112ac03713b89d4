#include "comm/root_heartbeat.hpp"

#include <algorithm>
#include <future>
#include <system_error>

#include "comm/serve.hpp"

namespace sluice {
namespace {

/// Returns an invalid future if no thread can be created.
std::future<void> begin(const std::function<void()>& action) {
    try {
        return std::async(std::launch::async, action);
    } catch (const std::system_error&) {
        return {};
    }
}

}  // namespace

RootHeartbeat::RootHeartbeat(MpiSession& session)
    : session_(session), ranks_(static_cast<std::size_t>(session.size())) {}

RootHeartbeat::~RootHeartbeat() {
    for (Rank& rank : ranks_) {
        if (rank.under_way != MPI_REQUEST_NULL) {
            MPI_Request_free(&rank.under_way);
        }
    }
}

void RootHeartbeat::send_if_due(Instant now) noexcept {
    if (pause_.count() == 0 || now - last_ < pause_) {
        return;
    }
    last_ = now;
    for (int number = 1; number < session_.size(); ++number) {
        Rank& rank = ranks_[static_cast<std::size_t>(number)];
        if (has_left(rank) && !rank.is_lost) {
            rank.is_lost = MPI_Isend(&heartbeat_, sizeof heartbeat_, MPI_BYTE, number, tags::from_root,
                                     session_.world(), &rank.under_way) != MPI_SUCCESS;
        }
    }
}

void RootHeartbeat::send_while(const std::function<void()>& action) {
    const std::chrono::nanoseconds before = pause_;
    send_every(between_heartbeats);
    std::future<void> done = begin(action);
    if (!done.valid()) {
        send_every(before);
        action();
        return;
    }
    do {
        send_if_due(Clock::now());
    } while (done.wait_for(between_heartbeats) != std::future_status::ready);
    send_every(before);
    done.get();
}

bool RootHeartbeat::have_left() noexcept {
    return std::ranges::all_of(ranks_, [](Rank& rank) { return has_left(rank); });
}

bool RootHeartbeat::has_left(Rank& rank) noexcept {
    int left = 1;
    if (MPI_Test(&rank.under_way, &left, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        rank.under_way = MPI_REQUEST_NULL;
        rank.is_lost = true;
    }
    return left != 0;
}

}  // namespace sluice
