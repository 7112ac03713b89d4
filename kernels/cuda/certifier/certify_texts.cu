#include "kernels/cuda/certifier/certify_texts.hpp"

#include <variant>

#include "kernels/cuda/certifier/recompute.cuh"
#include "kernels/cuda/counts.cuh"

namespace sluice {
namespace {

/// Recounts a text as a generator counts it.
struct CountedName {
    std::uint32_t max_length;

    __device__ TextCounts operator()(const std::byte* item, const std::byte* result) const {
        const auto& start = *reinterpret_cast<const TextStart*>(item);
        const auto length = static_cast<std::uint32_t>(reinterpret_cast<const TextEnd*>(result)->length);
        return {.texts = 1,
                .new_tokens = length - min(start.prefix, max_length),
                .ended = length < max_length ? 1ULL : 0ULL};
    }
};

/// Recounts a text as a decoder counts it.
struct CountedContinuation {
    __device__ TextCounts operator()(const std::byte* item, const std::byte* result) const {
        return counts_of(*reinterpret_cast<const PromptStart*>(item),
                         *reinterpret_cast<const ContinuationStart*>(result));
    }
};

/// Whether a text's doubt is below the bounds; if so, takes its counts back.
template <class Counted>
struct TextTest {
    DoubtfulTexts texts;
    const std::byte* in;
    const std::byte* out;
    RecomputeSizes sizes;
    Counted counted;

    __device__ bool operator()(std::uint32_t item, bool is_active) const {
        if (!is_active) {
            return false;
        }
        const TextDoubt doubt = texts.doubts[item];
        if (doubt.distance >= texts.bounds->distance && doubt.gap >= texts.bounds->gap) {
            return false;
        }
        add_counts(*texts.retracted,
                   counted(in + std::size_t{item} * sizes.input_bytes, out + std::size_t{item} * sizes.result_bytes));
        return true;
    }
};

CountedName counted(const GeneratorTexts& texts) {
    return {.max_length = texts.max_length};
}
CountedContinuation counted(const DecoderTexts&) {
    return {};
}

}  // namespace

void enqueue_choose_texts(const RecomputeSizes& sizes, const RecomputeMemory& memory, const DoubtfulTexts& texts,
                          const TextForm& form, cudaStream_t stream) {
    std::visit(
        [&](const auto& of) {
            using Counted = decltype(counted(of));
            enqueue_choose(sizes, memory, TextTest<Counted>{texts, memory.in, memory.out, sizes, counted(of)}, stream);
        },
        form);
}

}  // namespace sluice
