#pragma once

#include <cstdint>

namespace sluice::test {

/// While it lives, the calling thread can start only `threads` more threads; further attempts fail with EAGAIN.
class ThreadLimit {
public:
    explicit ThreadLimit(std::uint32_t threads) noexcept;
    ~ThreadLimit();
    ThreadLimit(const ThreadLimit&) = delete;
    ThreadLimit& operator=(const ThreadLimit&) = delete;
};

}  // namespace sluice::test
