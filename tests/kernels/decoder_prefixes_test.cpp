#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/device/host_device.hpp"
#include "kernels/kernels.hpp"
#include "tests/kernels/decoder_texts.hpp"
#include "tests/support/host_precisions.hpp"

/// Prompts that begin alike, on the host.
namespace sluice {
namespace {

using test::Continued;
using test::RandomDecoder;
using test::Tokens;

constexpr std::uint64_t plenty = UINT64_MAX / 2;
constexpr DecoderShape short_shape{
    .vocabulary = 53, .positions = 40, .width = 24, .layers = 2, .heads = 3, .inner = 70};
constexpr DecoderShape long_shape{
    .vocabulary = 53, .positions = 300, .width = 32, .layers = 2, .heads = 2, .inner = 40};

/// What they have in common is computed once, with much memory and with little; alone none shares anything.
TEST(DecoderPrefixes, ChangeNoTextThatSharesThem) {
    HostDevice device;
    for (const DecoderShape& shape : {short_shape, long_shape, test::like_llama(long_shape, 1)}) {
        const RandomDecoder model(shape, 5);
        const std::uint32_t longest = shape.positions - 6;
        const std::vector<Tokens> prompts = test::prompts_with_instructions(300, longest, shape.vocabulary);
        const TokenSampling sampling{.max_prompt = longest, .max_new = 6, .end = 7, .log_probabilities = true};
        for (const Precision precision : test::host_precisions()) {
            SCOPED_TRACE(testing::Message() << name_of(precision) << ", " << shape.positions << " positions");
            const DecoderKernels& kernels = decoder_kernels_of(DeviceKind::host, precision);
            test::Continuer alone(kernels, device, model, sampling, 1, plenty);
            const std::vector<Continued> apart = alone(prompts);
            EXPECT_EQ(alone.counts().shared, 0U);
            for (const std::uint64_t more_bytes : {std::uint64_t{0}, std::uint64_t{1} << 16U, plenty}) {
                test::Continuer all(kernels, device, model, sampling, 300, more_bytes);

                const std::vector<Continued> together = all(prompts);

                ASSERT_EQ(together.size(), apart.size());
                for (std::size_t i = 0; i < together.size(); ++i) {
                    ASSERT_EQ(together[i], apart[i]) << i << ", " << more_bytes << " bytes more";
                }
                EXPECT_EQ(all.counts().prompt_tokens, alone.counts().prompt_tokens);
                EXPECT_LT(all.counts().shared, all.counts().prompt_tokens);
                EXPECT_GE(all.counts().shared, more_bytes == plenty ? all.counts().prompt_tokens / 4 : 0);
                EXPECT_EQ(all(prompts), apart);  // no page is lost
            }
        }
    }
}

/// Of all open texts the one that begins with most of a prompt's pages: all of them but those of its last token.
TEST(DecoderPrefixes, AreSharedWithTheTextThatHasMostOfThem) {
    HostDevice device;
    const RandomDecoder model(long_shape, 5);
    const Tokens longest(3 * 16 + 1, 7);
    Tokens other = longest;
    other[16] = 8;  // begins with one page of it
    test::Continuer all(decoder_kernels_of(DeviceKind::host), device, model, {.max_prompt = 60, .max_new = 2}, 3);

    all({other, longest, longest});

    EXPECT_EQ(all.counts().shared, 16U + 3 * 16);
}

/// Their keys and values depend on the whole prompt.
TEST(DecoderPrefixes, AreNotSharedByPromptsThatAttendToAllOfThemselves) {
    HostDevice device;
    test::Continuer continuer(decoder_kernels_of(DeviceKind::host), device,
                              RandomDecoder(test::with_prefix(short_shape), 5), {.max_prompt = 34, .max_new = 6}, 50);

    continuer(test::prompts_with_instructions(50, 34, short_shape.vocabulary));

    EXPECT_EQ(continuer.counts().shared, 0U);
}

}  // namespace
}  // namespace sluice
