#include "comm/serve.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

#include "comm/backoff.hpp"
#include "core/error.hpp"

namespace sluice {

void throw_if_stopped(const StopRequest& stop, const std::string& progress) {
    const int signal = stop.signal();
    if (signal != 0) {
        throw Error(ExitCode::stopped_early, {.id = "E-RUN-075",
                                              .what = fmt::format("stopped by SIG{}{}", sigabbrev_np(signal), progress),
                                              .hint = "nothing was published; run the same command again"});
    }
}

void serve(ChunkServer& server, LocalHub& local, RemoteHub* remote, Doorbell& bell, const StopRequest& stop) {
    Backoff backoff;
    const auto over = [&] {
        return server.all_written() && local.all_closed() && (remote == nullptr || remote->all_closed());
    };
    while (!over()) {
        const std::uint32_t seen = bell.listen();
        if (stop.signal() != 0) {
            throw_if_stopped(stop,
                             fmt::format(" after {} of {} chunks", server.chunks_written(), server.grid().chunks()));
        }
        bool moved = local.take_posts();
        if (remote != nullptr) {
            moved |= remote->progress();
        }
        while (const auto grant = server.next_grant()) {
            if (grant->to.rank == local.rank()) {
                local.fulfil(*grant);
            } else {
                remote->send(*grant);
            }
            moved = true;
        }
        if (moved) {
            backoff.reset();
        } else if (!over()) {
            if (remote == nullptr) {
                bell.wait(seen);
            } else {
                bell.wait_for(seen, backoff.next(remote->in_transit() ? Backoff::in_transit : Backoff::longest));
            }
        }
    }
}

}  // namespace sluice
