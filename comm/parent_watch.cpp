#include "comm/parent_watch.hpp"

#include <unistd.h>

#include <chrono>

#include "core/error.hpp"
#include "core/standard_error.hpp"
#include "core/sync/stopped_before.hpp"

namespace sluice {
namespace {

constexpr std::chrono::milliseconds between_looks{200};

void watch(const std::stop_token& stop, pid_t parent) {
    while (!stopped_before(stop, Clock::now() + between_looks)) {
        if (::getppid() != parent) {
            const ErrorText text{.id = "E-MPI-145",
                                 .where = "MPI_Init_thread",
                                 .what = "the launcher ended before its ranks had found each other",
                                 .hint = "run the same command again"};
            say(text);
            ::_exit(static_cast<int>(ExitCode::communication));
        }
    }
}

}  // namespace

std::jthread watch_parent() {
    return std::jthread(watch, ::getppid());
}

}  // namespace sluice
