#include "comm/parent_watch.hpp"

#include <unistd.h>

#include <chrono>

#include "core/error.hpp"
#include "core/standard_error.hpp"

namespace sluice {
namespace {

constexpr std::chrono::milliseconds between_looks{200};

}  // namespace

ParentWatch::ParentWatch() : parent_(::getppid()), thread_([this] { watch(); }) {}

ParentWatch::~ParentWatch() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

void ParentWatch::watch() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, between_looks, [this] { return over_; })) {
        if (::getppid() != parent_) {
            const ErrorText text{.id = "E-MPI-145",
                                 .where = "MPI_Init_thread",
                                 .what = "the launcher ended before its ranks had found each other",
                                 .hint = "run the same command again"};
            say(text);
            ::_exit(static_cast<int>(ExitCode::communication));
        }
    }
}

}  // namespace sluice
