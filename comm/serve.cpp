#include "comm/serve.hpp"

#include <algorithm>

#include "comm/backoff.hpp"
#include "core/clock.hpp"

namespace sluice {
namespace {

/// This rank's own signal comes first: launchers signal all ranks.
StopCause stop_of(const StopRequest& stop, const RemoteHub* remote) {
    const int signal = stop.signal();
    return signal != 0 || remote == nullptr ? StopCause{.signal = signal, .reason = stop.reason()} : remote->stop();
}

/// From a stop request on: what is in flight, and how long it may take.
class Drain {
public:
    Drain(ChunkServer& server, RemoteHub* remote, const ServeOptions& options)
        : server_(server), remote_(remote), options_(options) {}

    /// `chunks_end`: as StopRequest's.
    void begin(const StopCause& cause, Instant chunks_end) {
        constexpr std::chrono::seconds least_time{1};
        const Instant now = Clock::now();
        cause_ = cause;
        end_ = now + options_.drain_timeout;
        if (chunks_end < end_) {
            ends_by_limit_ = true;
            end_ = std::max(chunks_end, now + least_time);
        }
        server_.drain();
        if (remote_ != nullptr) {
            remote_->announce_drain();
        }
        if (options_.on_drain) {
            options_.on_drain(cause);
        }
    }

    [[nodiscard]] bool begun() const noexcept { return cause_.signal != 0; }
    [[nodiscard]] const StopCause& cause() const noexcept { return cause_; }
    [[nodiscard]] std::chrono::nanoseconds time_left() const { return end_ - Clock::now(); }
    [[nodiscard]] bool ends_by_limit() const noexcept { return ends_by_limit_; }
    [[nodiscard]] std::optional<int> find_lost_rank() const {
        return remote_ == nullptr ? std::nullopt : remote_->find_silent(longest_silence(options_.drain_timeout));
    }

private:
    ChunkServer& server_;
    RemoteHub* remote_;
    const ServeOptions& options_;
    StopCause cause_{};
    Instant end_{};
    bool ends_by_limit_ = false;
};

bool grant_all(ChunkServer& server, LocalHub& local, RemoteHub* remote) {
    bool moved = false;
    while (const auto grant = server.next_grant()) {
        if (grant->to.rank == LocalHub::rank) {
            local.fulfil(*grant);
        } else {
            remote->send(*grant);
        }
        moved = true;
    }
    return moved;
}

}  // namespace

Served serve(ChunkServer& server, LocalHub& local, RemoteHub* remote, Doorbell& bell, const StopRequest& stop,
             const ServeOptions& options) {
    Activity own_activity;
    Activity& activity = options.activity == nullptr ? own_activity : *options.activity;
    Backoff backoff;
    Drain drain(server, remote, options);
    const auto over = [&] {
        return server.all_written() && local.all_closed() && (remote == nullptr || remote->all_closed());
    };
    while (!over()) {
        activity.move();
        const std::uint32_t seen = bell.listen();
        if (const StopCause cause = stop_of(stop, remote); cause.signal != 0 && !drain.begun()) {
            drain.begin(cause, stop.chunks_end());
        }
        if (drain.begun() && drain.time_left().count() <= 0) {
            return {.stop = drain.cause(), .gave_up = true, .at_limit = drain.ends_by_limit()};
        }
        bool moved = local.take_posts();
        if (remote != nullptr) {
            moved |= remote->progress();
        }
        if (drain.begun()) {
            if (const auto lost = drain.find_lost_rank()) {
                return {.stop = drain.cause(), .lost_rank = *lost};
            }
        }
        moved |= grant_all(server, local, remote);
        if (moved) {
            backoff.reset();
        } else if (!over()) {
            activity.wait(Stage::gather);
            if (remote != nullptr) {
                bell.wait_for(seen, backoff.next(remote->in_transit() ? Backoff::in_transit : Backoff::longest));
            } else if (drain.begun()) {
                bell.wait_for(seen, std::max(drain.time_left(), std::chrono::nanoseconds(0)));
            } else {
                bell.wait(seen);
            }
            activity.work(Stage::gather, Activity::no_chunk);
        }
    }
    activity.end();
    return {.stop = stop_of(stop, remote)};
}

}  // namespace sluice
