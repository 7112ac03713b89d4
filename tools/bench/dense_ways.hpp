#pragma once

#include <cstdint>
#include <span>

#include "core/codec.hpp"
#include "tools/bench/memory_read.hpp"
#include "tools/bench/reader_files.hpp"

namespace sluice::bench {

/// Prints the throughput of ways to turn fp32 items in the page cache into packed ones, alternating, `repeats` times
/// per number of threads: only read, or packed, from `memory`, which holds the same items; copied by pread without
/// packing; copied in cache-sized pieces and packed; packed from a fresh map of the file.
void compare_dense_ways(const ReaderFile& file, const ItemCodec& codec, const PlainMemory& memory,
                        std::span<const std::uint32_t> threads, std::uint32_t repeats);

}  // namespace sluice::bench
