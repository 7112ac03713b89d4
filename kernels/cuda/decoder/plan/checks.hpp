#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/decoder/plan/batch.hpp"

/// Checks texts that another decoder has drafted: prompt and draft are prefilled as one prompt, and the rows before
/// doubtful choices want scores, each in its own slot with the pages of its text. A text whose first other choice is
/// not the draft's keeps its slot and pages, and continues from there as any text does.
namespace sluice::decoder {

/// Which choices of a draft are checked.
struct Check {
    std::uint32_t choices = 0;  ///< Number of doubtful choices; 0: the draft is not checked.
    std::uint32_t rows = 0;     ///< Tokens of the prompt and the draft before the last checked choice.
};

/// Device memory; a chunk's.
struct Drafts {
    const std::byte* items;
    std::byte* results;          ///< In and out.
    const ChoiceDoubt* choices;  ///< (items, max_new): the doubts of the draft's choices.
    const TextDoubt* bounds;     ///< A choice with a smaller doubt is doubtful.
    Check* checks;               ///< (items) Workspace.
    TextDoubt* doubts;           ///< (items) TextChecker's output.
    std::uint32_t count;
    const std::uint32_t* active = nullptr;  ///< Number of active ones; null: all.
};

/// Finds the choices to check and plans the first pass. Requires empty slots.
void enqueue_begin_checks(const Memory& memory, const Rule& rule, const Drafts& drafts, cudaStream_t stream);

/// Confirms and corrects the drafts that a pass has checked, and plans the next one.
void enqueue_settle_checks(const Memory& memory, const Rule& rule, const Drafts& drafts, cudaStream_t stream);

}  // namespace sluice::decoder
