#include "kernels/cuda/certifier/certify.hpp"
#include "kernels/cuda/certifier/recompute.cuh"

namespace sluice {
namespace {

/// Writes an item's result, the fast model's plus offsets, and returns whether its label is uncertain, as with a score
/// that is not finite.
struct LabelTest {
    Guesses guesses;
    std::byte* out;

    __device__ bool operator()(std::uint32_t item, bool is_active) const {
        const std::uint32_t classes = guesses.classes;
        const std::int32_t* guess = guesses.results + std::size_t{item} * (1 + classes);
        std::int32_t* result =
            reinterpret_cast<std::int32_t*>(out) + std::size_t{item} * (1 + (guesses.scores ? classes : 0));
        float best = 0;
        float second = -INFINITY;
        std::uint32_t best_class = 0;
        float largest = 0;
        bool numbers = true;
        for (std::uint32_t c = 0; c < classes; ++c) {
            const float score = __int_as_float(guess[1 + c]) + guesses.margin[c];
            numbers = numbers && isfinite(score);
            largest = fmaxf(largest, fabsf(score));
            if (c == 0 || score > best) {
                second = c == 0 ? second : best;
                best = score;
                best_class = c;
            } else {
                second = fmaxf(second, score);
            }
            if (guesses.scores) {
                result[1 + c] = __float_as_int(score);
            }
        }
        result[0] = static_cast<std::int32_t>(best_class);
        const float bound = guesses.margin[classes];
        const float usual = guesses.margin[classes + 1];
        return is_active && (!numbers || !(best - second >= bound * (usual + largest)));
    }
};

}  // namespace

void enqueue_choose(const RecomputeSizes& sizes, const RecomputeMemory& memory, const Guesses& guesses,
                    cudaStream_t stream) {
    enqueue_choose(sizes, memory, LabelTest{guesses, memory.out}, stream);
}

}  // namespace sluice
