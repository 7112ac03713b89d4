#include "kernels/cuda/decoder/choice/choose.hpp"

#include "kernels/cuda/decoder/choice/choice_doubt.cuh"
#include "kernels/cuda/decoder/choice/token_choice.cuh"
#include "kernels/cuda/decoder/plan/chunk_io.cuh"
#include "kernels/cuda/decoder/plan/texts.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t most_choice_blocks = 8 * hopper_multiprocessors;

extern __shared__ uint4 choice_memory[];

/// Called by all threads of a block.
__device__ Chosen choose_token(const Memory& memory, const Rule& rule, const Text& text, const ScoredRows& rows,
                               std::uint32_t number) {
    auto& shared = *reinterpret_cast<ChoiceMemory*>(choice_memory);
    RowScores row(rule, rows, number, shared);
    if (rule.repetition_penalty != 1) {
        const Batch& batch = *memory.batch;
        row.mark(prompt_of(batch.in, rule, text.item).tokens, text.prompt,
                 continuation_of(batch.out, rule, text.item).tokens, text.made);
    }
    TokenChoice choice(rule, row, shared);
    const BestTwo found = choice.best<true>();
    Chosen chosen{.token = found.best.place, .log_probability = 0, .nonfinite = choice.any_nonfinite()};
    if (rule.temperature == 0) {
        chosen.doubt.doubt.gap = found.gap();
    } else if (isfinite(found.best.score)) {
        const float uniform = uniform_of(rule, text);
        chosen.token = choice.draw(found.best.score, uniform);
        if (memory.batch->wants_doubts()) {
            chosen.doubt = choice.doubt(chosen.token, uniform);
        }
    }
    if (rule.log_probabilities) {
        const Best unpenalised = rule.repetition_penalty == 1 ? found.best : choice.best<false>().best;
        chosen.log_probability = choice.log_probability(unpenalised, chosen.token);
    }
    return chosen;
}

/// One block per entry.
__global__ void __launch_bounds__(choice_threads, 4) choose(Memory memory, Rule rule, ScoredRows rows) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t entries = memory.batch->entries;
    for (std::uint32_t e = blockIdx.x; e < entries; e += gridDim.x) {
        Text& text = memory.texts[memory.entries[e].slot];
        const Chosen chosen = choose_token(memory, rule, text, rows, e);
        __syncthreads();  // all threads have read the text
        if (threadIdx.x == 0) {
            append(memory, rule, text, chosen);
        }
        __syncthreads();
    }
}

std::uint32_t choose_block_bytes(bool has_penalty, std::uint32_t vocabulary) {
    constexpr std::uint32_t group_bytes = sizeof(unsigned long long) + sizeof(float);
    const std::uint32_t marks = has_penalty ? (vocabulary + 31) / 32 * 4 : 0;
    return static_cast<std::uint32_t>(sizeof(ChoiceMemory)) + groups_of(vocabulary) * group_bytes + marks;
}

void enqueue_choose(const Memory& memory, const Rule& rule, const ScoredRows& rows, cudaStream_t stream) {
    const std::uint32_t shared = choose_block_bytes(rule.repetition_penalty != 1, rows.vocabulary);
    allow_shared_bytes(&choose, shared);
    launch(&choose, "choice",
           {.blocks = memory.slots < most_choice_blocks ? memory.slots : most_choice_blocks,
            .threads = choice_threads,
            .shared_bytes = shared,
            .chained = true},
           stream, memory, rule, rows);
}

}  // namespace sluice::decoder
