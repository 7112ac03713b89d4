#include <algorithm>
#include <random>

#include "tests/kernels/cuda/decoder_plan.hpp"

namespace sluice {
namespace {

using test::PlannedChunk;
using test::Prompts;

class DecoderPlanOnGpu : public OnGpu {};

/// Fewer slots, rows and pages than the items want: all three run out.
TEST_F(DecoderPlanOnGpu, GivesEachTextItsTokensInTurn) {
    const auto device = make_cuda_device(0);
    constexpr TokenSampling sampling{.max_prompt = 50, .max_new = 6};
    std::mt19937 engine(3);
    Prompts prompts(60);
    for (std::uint32_t i = 0; i < prompts.size(); ++i) {
        prompts[i].resize(i < 30 || engine() % 2 == 0 ? 16 : 1 + engine() % sampling.max_prompt);
        std::ranges::generate(prompts[i], [token = i * 1000]() mutable { return token++; });
    }
    for (const std::uint32_t long_prompt : {decoder::no_prompt_is_long, 50U, 20U, 1U}) {
        for (const bool attends_in_product : {false, true}) {
            SCOPED_TRACE(testing::Message() << "long from " << long_prompt << ", pages " << attends_in_product);
            PlannedChunk chunk(*device, {.slots = 12, .rows = 256, .text_pages = 4, .pages = 24}, sampling, long_prompt,
                               attends_in_product);

            expect_all_passes(chunk, prompts, sampling);

            EXPECT_EQ(chunk.prompts_with_pages() != 0, attends_in_product && long_prompt > 16);
        }
    }
}

}  // namespace
}  // namespace sluice
