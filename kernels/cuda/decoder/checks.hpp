#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/decoder/batch.hpp"

/// How a decoder checks texts that another one has drafted: the prompt and the draft go through it as one prompt, and
/// the rows before doubtful choices want scores, each in a slot of its own with the pages of its text.
namespace sluice::decoder {

/// Device memory; a chunk's.
struct Drafts {
    const std::byte* items;
    const std::byte* results;
    const ChoiceDoubt* choices;  ///< (items, max_new): how close the draft's came to others.
    const TextDoubt* bounds;     ///< Doubtful is a choice that came closer.
    Check* checks;               ///< (items) For use meanwhile.
    TextDoubt* doubts;           ///< (items) TextChecker's output.
    std::uint32_t count;
    const std::uint32_t* active = nullptr;  ///< Only so many of them count; null: all.
};

/// Finds what is to be checked and plans the first pass. There is no text in the slots.
void enqueue_begin_checks(const Memory& memory, const Rule& rule, const Drafts& drafts, cudaStream_t stream);

/// Plans the next pass, and leaves no text in the slots.
void enqueue_plan_checks(const Memory& memory, const Rule& rule, const Drafts& drafts, cudaStream_t stream);

}  // namespace sluice::decoder
