#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/function_ref.hpp"

namespace sluice {

/// Number of helper threads for work before a rank's first chunk: one for each CPU of the process besides the caller's,
/// but no more than memory bandwidth keeps busy.
[[nodiscard]] std::uint32_t startup_helpers() noexcept;

/// Helper threads that sleep until their owner runs work of several pieces.
class WorkTeam {
public:
    /// Starts the helpers, on the caller's CPUs. Throws std::system_error if one cannot be started; then none is left
    /// running.
    explicit WorkTeam(std::uint32_t helpers);
    ~WorkTeam();
    WorkTeam(const WorkTeam&) = delete;
    WorkTeam& operator=(const WorkTeam&) = delete;

    /// Calls work(i) once for every i below `pieces`, on this thread and the helpers, in any order. Returns when all
    /// calls have returned; then rethrows an exception of one of them, if any.
    void run(std::uint32_t pieces, FunctionRef<void(std::uint32_t)> work);

private:
    WorkTeam() = default;
    void help();
    void take_pieces(std::unique_lock<std::mutex>& lock);

    std::mutex mutex_;
    std::condition_variable begun_;
    std::condition_variable over_;
    const FunctionRef<void(std::uint32_t)>* work_ = nullptr;
    std::uint32_t next_ = 0;
    std::uint32_t pieces_ = 0;
    std::uint32_t unfinished_ = 0;
    std::exception_ptr failure_;
    bool stopping_ = false;
    std::vector<std::thread> helpers_;
};

}  // namespace sluice
