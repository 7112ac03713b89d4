#pragma once

#include <cstddef>

#include "core/trace/trace.hpp"

namespace sluice {

/// Chunks that rank 0's comm thread sent and received, for all devices: messages of other ranks, from the first one's
/// post to the last one's completion, and copies for devices of its own process. In a single process there are only
/// copies, made one at a time by one thread; messages go both ways at once and are traced separately.
struct CommTrace {
    CommTrace(int ranks, std::size_t chunks)
        : scatter(ranks > 1 ? "send" : "comm", chunks), gather(ranks > 1 ? "receive" : "comm", chunks) {}

    ThreadTrace scatter;
    ThreadTrace gather;
};

}  // namespace sluice
