#pragma once

#include <cstdint>

namespace sluice::test {

/// While it lives, the calling thread can start `threads` more threads; then there are no resources for another one.
class ThreadLimit {
public:
    explicit ThreadLimit(std::uint32_t threads) noexcept;
    ~ThreadLimit();
    ThreadLimit(const ThreadLimit&) = delete;
    ThreadLimit& operator=(const ThreadLimit&) = delete;
};

}  // namespace sluice::test
