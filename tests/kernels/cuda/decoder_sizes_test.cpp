#include "kernels/cuda/decoder/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "tests/kernels/cuda/decoder_on_gpu.hpp"
#include "tests/kernels/decoder_texts.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(DecoderSizes, TakeTheMemoryThatThereIs) {
    for (const DecoderShape& shape :
         {DecoderShape{.vocabulary = 50'257, .positions = 1024, .width = 768, .layers = 12, .heads = 12, .inner = 3072},
          test::like_llama(
              {.vocabulary = 32'000, .positions = 2048, .width = 2048, .layers = 22, .heads = 32, .inner = 5632}, 4)}) {
        for (const TokenSampling& sampling : {TokenSampling{.max_prompt = 16, .max_new = 8, .temperature = 0},
                                              TokenSampling{.max_prompt = 900, .max_new = 100}}) {
            for (const Precision precision :
                 {Precision::fp32, Precision::tf32x3, Precision::fp16x2, Precision::bf16, Precision::fp8}) {
                for (const std::uint32_t items : {1U, 40U, 100'000U}) {
                    const std::uint64_t least = decoder::bytes_of(decoder::least_sizes(sampling, items), shape,
                                                                  sampling, precision, MatrixInstructions::mma);
                    std::uint32_t slots = 0;
                    for (const std::uint64_t bytes : {least, 2 * least, 10 * least, std::uint64_t{1} << 40U}) {
                        const decoder::Sizes sizes =
                            decoder::choose_sizes(shape, sampling, precision, MatrixInstructions::mma, items, bytes);

                        EXPECT_LE(decoder::bytes_of(sizes, shape, sampling, precision, MatrixInstructions::mma), bytes);
                        EXPECT_GE(sizes.pages, sizes.text_pages);
                        EXPECT_GE(sizes.rows, std::max(sizes.slots, sampling.max_prompt + sampling.max_new - 1));
                        EXPECT_EQ(sizes.rows % 128, 0U);
                        EXPECT_GE(sizes.slots, slots);
                        const bool may_share = bytes != least && sampling.max_prompt > 16;
                        EXPECT_EQ(sizes.prompt_pages, may_share && sizes.items != 0 ? 56U : 0U);
                        EXPECT_LE(sizes.items, may_share ? items : 0);
                        EXPECT_TRUE(sizes.items == items || !may_share || bytes < std::uint64_t{1} << 40U);
                        slots = sizes.slots;
                    }
                    EXPECT_EQ(slots, std::clamp(items, 16U, precision == Precision::fp32 ? 12672U : 33792U));
                }
            }
        }
    }
}

/// Larger passes gain little, so that they leave the memory to the cache.
TEST(DecoderSizes, TakeMoreTextsAndRowsThanUsefulInASmallShareOfTheMemoryOnly) {
    const DecoderShape shape{
        .vocabulary = 50'257, .positions = 1024, .width = 768, .layers = 12, .heads = 12, .inner = 3072};
    constexpr std::uint32_t useful_slots = 8448;
    constexpr std::uint32_t useful_rows = 16896;
    const auto bytes = [&](decoder::Sizes sizes, const TokenSampling& sampling) {
        sizes.pages = 0;
        return decoder::bytes_of(sizes, shape, sampling, Precision::bf16, MatrixInstructions::wgmma);
    };
    for (const TokenSampling& sampling :
         {TokenSampling{.max_prompt = 16, .max_new = 8, .temperature = 0},
          TokenSampling{.max_prompt = 16, .max_new = 8, .temperature = 1, .top_k = 50},  // all scores are kept
          TokenSampling{.max_prompt = 900, .max_new = 100, .temperature = 0}}) {
        std::uint32_t most_slots = 0;
        std::uint32_t most_rows = 0;
        for (const std::uint64_t room : {24U, 80U, 140U, 1000U}) {
            const std::uint64_t device_bytes = room << 30U;
            const decoder::Sizes sizes = decoder::choose_sizes(shape, sampling, Precision::bf16,
                                                               MatrixInstructions::wgmma, 100'000, device_bytes);
            const std::uint64_t all = bytes(sizes, sampling);
            if (sizes.slots > useful_slots) {
                EXPECT_LE(all - bytes({0, sizes.rows, sizes.text_pages, 0}, sampling), device_bytes / 16) << room;
            }
            if (sizes.rows > useful_rows) {
                EXPECT_LE(all - bytes({sizes.slots, 0, sizes.text_pages, 0}, sampling), device_bytes / 16) << room;
            }
            most_slots = std::max(most_slots, sizes.slots);
            most_rows = std::max(most_rows, sizes.rows);
        }
        EXPECT_EQ(most_slots, 33'792U);
        EXPECT_EQ(most_rows, 135'168U);
    }
}

/// Of a row, for each 64 tokens: a largest score and a sum for greedy ones, a sum more for drawn ones.
TEST(DecoderSizes, KeepNoScoresForLogProbabilities) {
    const DecoderShape shape{
        .vocabulary = 50'257, .positions = 1024, .width = 768, .layers = 12, .heads = 12, .inner = 3072};
    constexpr std::uint64_t groups = 786;
    constexpr std::uint32_t slots = 1280;
    const auto more = [&](Precision precision, TokenSampling sampling) {
        const auto bytes = [&] {
            return decoder::bytes_of({slots, 1280, 1, 0}, shape, sampling, precision, MatrixInstructions::wgmma);
        };
        sampling.log_probabilities = false;
        const std::uint64_t without = bytes();
        sampling.log_probabilities = true;
        return (bytes() - without) / slots;
    };
    for (const Precision precision :
         {Precision::bf16, Precision::fp16, Precision::fp8, Precision::tf32, Precision::tf32x3, Precision::fp16x2}) {
        EXPECT_EQ(more(precision, {.temperature = 0}), groups * 8);
        EXPECT_EQ(more(precision, {.temperature = 0.9F}), groups * 4);
        EXPECT_EQ(more(precision, {.temperature = 1}), 0U) << "whose sums are those of the draw";
        EXPECT_EQ(more(precision, {.temperature = 0.9F, .top_k = 50}), 0U) << "by all scores";
    }
    EXPECT_EQ(more(Precision::fp32, {.temperature = 0}), 0U) << "by all scores";
}

/// Some kernels count them in 32 bits.
TEST(DecoderSizes, HoldNoMoreValuesThanKernelsCanCount) {
    const DecoderShape wide = test::like_llama(
        {.vocabulary = 100'000, .positions = 2048, .width = 8192, .layers = 2, .heads = 64, .inner = 28'672}, 8);
    const TokenSampling penalised{.max_prompt = 16, .max_new = 8, .repetition_penalty = 1.1F};
    const decoder::Sizes sizes = decoder::choose_sizes(wide, penalised, Precision::bf16, MatrixInstructions::mma,
                                                       100'000, std::uint64_t{1} << 40U);

    EXPECT_LE(std::uint64_t{sizes.slots} * 100'000, std::uint64_t{1} << 31U);
    EXPECT_LE(std::uint64_t{sizes.rows} * 2 * 28'672, std::uint64_t{1} << 31U);
    EXPECT_GT(sizes.slots, 8448U);
    EXPECT_GT(sizes.rows, 16'896U);
}

/// By wgmma the expansion's product computes the gated activation, of which mma.sync's keeps the input.
TEST(DecoderSizes, CountNoGatesWhereTheProductTakesThem) {
    const DecoderShape gated = test::like_llama(
        {.vocabulary = 32'000, .positions = 2048, .width = 2048, .layers = 22, .heads = 32, .inner = 5632}, 4);
    const TokenSampling sampling{.max_prompt = 900, .max_new = 100};
    const decoder::Sizes sizes = decoder::least_sizes(sampling, 40);
    const auto bytes = [&](Precision precision, MatrixInstructions instructions) {
        return decoder::bytes_of(sizes, gated, sampling, precision, instructions);
    };

    EXPECT_EQ(bytes(Precision::bf16, MatrixInstructions::mma) - bytes(Precision::bf16, MatrixInstructions::wgmma),
              std::uint64_t{sizes.rows} * 2 * 5632 * 2);
    EXPECT_EQ(bytes(Precision::tf32, MatrixInstructions::mma), bytes(Precision::tf32, MatrixInstructions::wgmma));
    constexpr std::uint64_t room = std::uint64_t{10} << 30U;
    EXPECT_GT(decoder::choose_sizes(gated, sampling, Precision::bf16, MatrixInstructions::wgmma, 8448, room).pages,
              decoder::choose_sizes(gated, sampling, Precision::bf16, MatrixInstructions::mma, 8448, room).pages);
}

TEST(DecoderSizes, RefuseAVocabularyWhoseChoiceFitsNoBlock) {
    constexpr std::uint32_t ada = 99 * 1024;
    constexpr std::uint32_t hopper = 227 * 1024;
    const auto refusal = [](std::uint32_t vocabulary, const TokenSampling& sampling, std::uint32_t block_bytes) {
        try {
            decoder::check_choice(vocabulary, sampling, Precision::bf16, block_bytes, "device 0 (L4)");
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::unavailable);
            EXPECT_EQ(error.text().id, "E-GPU-069");
            EXPECT_EQ(error.text().where, "device 0 (L4)");
            return error.text().what + "; " + error.text().hint;
        }
        return std::string();
    };
    const TokenSampling by_share{.top_p = 0.9F};
    const TokenSampling penalised{.repetition_penalty = 1.1F, .top_p = 0.9F};

    EXPECT_EQ(refusal(400'000, by_share, ada), "");
    EXPECT_EQ(refusal(250'000, penalised, ada), "");
    EXPECT_EQ(refusal(600'000, penalised, hopper), "");
    EXPECT_EQ(refusal(1'000'000, {.temperature = 0}, ada), "") << "by the largest scores alone";
    EXPECT_EQ(refusal(1'000'000, {.temperature = 0, .log_probabilities = true}, ada), "") << "by these and sums";
    EXPECT_EQ(refusal(700'000, {}, ada), "") << "by sums of weights";
    EXPECT_EQ(refusal(700'000, {.temperature = 0.7F, .log_probabilities = true}, ada), "") << "by two sums each";

    EXPECT_THAT(refusal(1'000'000, {}, ada), HasSubstr("choosing among 1000000 tokens takes 122."));
    EXPECT_THAT(refusal(500'000, by_share, ada), HasSubstr("which has 99.0 KiB at most on this GPU; set run.device"));
    EXPECT_THAT(refusal(300'000, penalised, ada), HasSubstr("; leave generate.repetition_penalty out, set run.device"));
    EXPECT_THAT(refusal(600'000, penalised, ada), Not(HasSubstr("leave generate.repetition_penalty out")));
    EXPECT_NE(refusal(1'000'000, penalised, hopper), "");
}

/// Beside a key's or value's numbers of one byte lies a scale of one byte, of int8 two.
TEST(DecoderSizes, HaveNearlyTwiceThePagesWithAQuantisedCache) {
    const DecoderShape shape{
        .vocabulary = 50'257, .positions = 1024, .width = 768, .layers = 12, .heads = 12, .inner = 3072};
    const auto pages = [&](KvCache kind) -> double {
        const TokenSampling sampling{.max_prompt = 900, .max_new = 100, .kv_cache = kind};
        return decoder::choose_sizes(shape, sampling, Precision::bf16, MatrixInstructions::mma, 8448,
                                     std::uint64_t{100} << 30U)
            .pages;
    };

    EXPECT_NEAR(pages(KvCache::fp8) / pages(KvCache::as_computed), 2 * 768.0 / (768 + 12), 0.01);
    EXPECT_NEAR(pages(KvCache::int8) / pages(KvCache::as_computed), 2 * 768.0 / (768 + 24), 0.01);
}

/// A GPU that counts what is allocated on it.
class CountingGpu final : public CudaDevice {
public:
    explicit CountingGpu(MatrixInstructions instructions) : CudaDevice(0, {.instructions = instructions}) {}

    [[nodiscard]] Buffer allocate(MemorySpace space, std::size_t bytes) override {
        device_bytes += space == MemorySpace::device ? bytes : 0;
        return CudaDevice::allocate(space, bytes);
    }

    std::uint64_t device_bytes = 0;
};

class DecoderMemory : public test::DecoderOnGpu {};

/// The plan rounds up.
TEST_F(DecoderMemory, IsNoMoreThanThePlanSaysAndHardlyLess) {
    constexpr std::uint32_t items = 500;
    std::vector<TokenSampling> samplings{test::sampled};
    for (const KvCache cache : {KvCache::as_computed, KvCache::fp8, KvCache::int8}) {
        samplings.push_back({.max_prompt = 60, .max_new = 10, .temperature = 0, .kv_cache = cache});
    }
    for (const float temperature : {0.0F, 0.9F}) {
        samplings.push_back({.max_prompt = 60, .max_new = 10, .temperature = temperature, .log_probabilities = true});
    }
    for (const test::DecoderKind kind : kinds()) {
        CountingGpu device(kind.instructions);
        for (const test::ModelCase& one : test::models_of_all) {
            const test::RandomDecoder model(one.shape, 7, one.parts);
            for (const TokenSampling& sampling : samplings) {
                if (sampling.kv_cache != KvCache::as_computed && !decoder::is_narrow(kind.precision)) {
                    continue;
                }
                PackedWeights packed;
                const auto layer = decoder_kernels_of(DeviceKind::cuda, kind.precision)
                                       .decoder(model.shape(), model.weights(), sampling, packed);
                packed.pack(NodeMemory::of_process(packed.bytes()), {}, 2);
                const std::uint64_t least = layer->least_bytes(items);
                for (const std::uint64_t more : {0U, 1U << 20U, 8U << 20U, 64U << 20U}) {
                    device.device_bytes = 0;
                    const auto made = layer->make_decoder(device, items, least + more);
                    const std::uint64_t planned = layer->bytes(device, items, least + more) + packed.bytes();
                    EXPECT_LE(device.device_bytes, planned) << kind << ", " << more << " bytes more";
                    EXPECT_GE(device.device_bytes, planned - (64U << 10U) - planned / 200) << kind << ", " << more;
                }
            }
        }
    }
}

}  // namespace
}  // namespace sluice
