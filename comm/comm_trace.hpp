#pragma once

#include <cstddef>

#include "core/trace/trace.hpp"

namespace sluice {

/// What rank 0's comm thread gave out and took in, all devices' together: messages of other ranks from the first one's
/// post to the last one's completion, and copies for devices of its own process. In a single process there are only
/// copies, which one thread makes in turn; messages go both ways at once, by ways that are told apart.
struct CommTrace {
    CommTrace(int ranks, std::size_t chunks)
        : scatter(ranks > 1 ? "send" : "comm", chunks), gather(ranks > 1 ? "receive" : "comm", chunks) {}

    ThreadTrace scatter;
    ThreadTrace gather;
};

}  // namespace sluice
