#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/decoder/batch.hpp"

/// Checks texts that another decoder has drafted: prompt and draft are prefilled as one prompt, and the rows before
/// doubtful choices want scores, each in its own slot with the pages of its text.
namespace sluice::decoder {

/// Device memory; a chunk's.
struct Drafts {
    const std::byte* items;
    const std::byte* results;
    const ChoiceDoubt* choices;  ///< (items, max_new): the doubts of the draft's choices.
    const TextDoubt* bounds;     ///< A choice with a smaller doubt is doubtful.
    Check* checks;               ///< (items) Workspace.
    TextDoubt* doubts;           ///< (items) TextChecker's output.
    std::uint32_t count;
    const std::uint32_t* active = nullptr;  ///< Number of active ones; null: all.
};

/// Finds the choices to check and plans the first pass. Requires empty slots.
void enqueue_begin_checks(const Memory& memory, const Rule& rule, const Drafts& drafts, cudaStream_t stream);

/// Plans the next pass, and leaves the slots empty.
void enqueue_plan_checks(const Memory& memory, const Rule& rule, const Drafts& drafts, cudaStream_t stream);

}  // namespace sluice::decoder
