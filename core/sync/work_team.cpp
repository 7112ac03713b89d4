#include "core/sync/work_team.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace sluice {

std::uint32_t startup_helpers() noexcept {
    constexpr std::uint32_t most_threads = 8;
    cpu_set_t mine;
    const bool is_known = ::sched_getaffinity(0, sizeof mine, &mine) == 0;  // not where there are more than 1024 CPUs
    const auto cpus = is_known ? static_cast<std::uint32_t>(CPU_COUNT(&mine)) : std::thread::hardware_concurrency();
    return std::clamp(cpus, 1U, most_threads) - 1;
}

WorkTeam::WorkTeam(std::uint32_t helpers) : WorkTeam() {  // so that those started end where the next one cannot start
    for (std::uint32_t i = 0; i < helpers; ++i) {
        helpers_.emplace_back([this] { help(); });
    }
}

WorkTeam::~WorkTeam() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    begun_.notify_all();
    for (std::thread& helper : helpers_) {
        helper.join();
    }
}

void WorkTeam::run(std::uint32_t pieces, FunctionRef<void(std::uint32_t)> work) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    next_ = 0;
    pieces_ = pieces;
    unfinished_ = pieces;
    for (std::size_t i = 0; i < helpers_.size() && i + 1 < pieces; ++i) {
        begun_.notify_one();
    }
    take_pieces(lock);
    over_.wait(lock, [this] { return unfinished_ == 0; });
    if (const std::exception_ptr failure = std::exchange(failure_, nullptr)) {
        std::rethrow_exception(failure);
    }
}

void WorkTeam::help() {
    std::unique_lock lock(mutex_);
    for (;;) {
        begun_.wait(lock, [this] { return stopping_ || next_ < pieces_; });
        if (stopping_) {
            return;
        }
        take_pieces(lock);
    }
}

void WorkTeam::take_pieces(std::unique_lock<std::mutex>& lock) {
    while (next_ < pieces_) {
        const std::uint32_t piece = next_++;
        const auto& work = *work_;
        lock.unlock();
        std::exception_ptr failure;
        try {
            work(piece);
        } catch (...) {  // handed to the thread that waits for all pieces
            failure = std::current_exception();
        }
        lock.lock();
        failure_ = failure_ ? failure_ : failure;
        if (--unfinished_ == 0) {
            over_.notify_one();
        }
    }
}

}  // namespace sluice
