#pragma once

#include <cstdint>
#include <span>

#include "core/codec.hpp"
#include "tools/bench/memory_read.hpp"
#include "tools/bench/reader_files.hpp"

namespace sluice::bench {

/// Prints how fast fp32 items get from the page cache to packed ones in ways that a source could take, `repeats` times
/// in turn, for each number of threads: read alone and packed from `memory`, which holds the same items; copied with
/// pread and not packed; copied a cache's worth at a time and packed; packed out of a fresh map of the file.
void compare_dense_ways(const ReaderFile& file, const ItemCodec& codec, const PlainMemory& memory,
                        std::span<const std::uint32_t> threads, std::uint32_t repeats);

}  // namespace sluice::bench
