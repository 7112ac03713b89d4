#include "kernels/cuda/generator/text_certifier.hpp"

#include "kernels/cuda/generator/texts.cuh"
#include "kernels/cuda/recompute.cuh"

namespace sluice::generator {
namespace {

struct TextTest {
    DoubtfulTexts texts;
    const std::byte* in;
    const std::byte* out;
    RecomputeSizes sizes;

    __device__ bool operator()(std::uint32_t item, bool is_active) const {
        if (!is_active) {
            return false;
        }
        const TextDoubt doubt = texts.doubts[item];
        if (doubt.distance >= texts.bounds->distance && doubt.gap >= texts.bounds->gap) {
            return false;
        }
        retract(*reinterpret_cast<const TextStart*>(in + std::size_t{item} * sizes.input_bytes),
                *reinterpret_cast<const TextEnd*>(out + std::size_t{item} * sizes.result_bytes));
        return true;
    }

    __device__ void retract(const TextStart& start, const TextEnd& end) const {
        const auto length = static_cast<std::uint32_t>(end.length);
        add_to(texts.retracted->texts, 1);
        add_to(texts.retracted->bytes, length - min(start.prefix, texts.max_length));
        add_to(texts.retracted->ended, length < texts.max_length ? 1 : 0);
    }
};

}  // namespace

void enqueue_choose(const RecomputeSizes& sizes, const RecomputeMemory& memory, const DoubtfulTexts& texts,
                    cudaStream_t stream) {
    sluice::enqueue_choose(sizes, memory, TextTest{texts, memory.in, memory.out, sizes}, stream);
}

}  // namespace sluice::generator
