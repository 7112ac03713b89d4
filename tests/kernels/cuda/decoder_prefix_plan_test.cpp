#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "kernels/cuda/decoder/plan/checks.hpp"
#include "tests/kernels/cuda/decoder_plan.hpp"

/// Plans of chunks whose prompts share prefixes.
namespace sluice {
namespace {

using test::expect_all_passes;
using test::PlannedChunk;
using test::Prompts;
using test::read_back;

class DecoderPrefixPlansOnGpu : public OnGpu {};

/// A tree of prefixes: prompts go on where others have ended, at any place of a page, or are the same.
Prompts branching_prompts(std::size_t count, std::uint32_t longest, std::uint32_t seed) {
    std::mt19937 engine(seed);
    Prompts prompts(count);
    for (std::size_t i = 0; i < count; ++i) {
        if (i != 0 && engine() % 8 != 0) {
            const std::vector<std::uint32_t>& other = prompts[engine() % i];
            prompts[i].assign(other.begin(),
                              other.begin() + static_cast<std::ptrdiff_t>(engine() % (other.size() + 1)));
        }
        const std::size_t room = longest - prompts[i].size();
        const std::size_t more = prompts[i].empty()  ? 1 + engine() % longest
                                 : engine() % 3 == 0 ? 0
                                                     : engine() % (room + 1);
        for (std::size_t t = 0; t < more; ++t) {
            prompts[i].push_back(static_cast<std::uint32_t>(engine() % 50'000));
        }
    }
    return prompts;
}

using Prefix = std::pair<bool, std::vector<std::uint32_t>>;

/// A prompt's first pages; whether it is long.
Prefix prefix_of(const std::vector<std::uint32_t>& prompt, std::size_t pages, std::uint32_t long_prompt) {
    return {prompt.size() >= long_prompt,
            std::vector(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(16 * pages))};
}

/// Pages of each prompt that another one begins with, too: those of long ones by fours, and with long ones only.
std::vector<std::uint32_t> pages_in_common(const Prompts& prompts, std::uint32_t long_prompt) {
    std::map<Prefix, std::uint32_t> prefixes;
    for (const std::vector<std::uint32_t>& prompt : prompts) {
        for (std::size_t pages = 1; 16 * pages < prompt.size(); ++pages) {
            ++prefixes[prefix_of(prompt, pages, long_prompt)];
        }
    }
    std::vector<std::uint32_t> common;
    for (const std::vector<std::uint32_t>& prompt : prompts) {
        std::uint32_t pages = 0;
        while (16 * (pages + 1) < prompt.size() && prefixes[prefix_of(prompt, pages + 1, long_prompt)] > 1) {
            ++pages;
        }
        common.push_back(prompt.size() >= long_prompt ? pages / 4 * 4 : pages);
    }
    return common;
}

/// With room for all prefixes, for some, and for few; chunks follow each other. Later items than there is memory for
/// share nothing.
TEST_F(DecoderPrefixPlansOnGpu, ComputesPrefixesThatPromptsShareOnce) {
    const auto device = make_cuda_device(0);
    constexpr TokenSampling sampling{.max_prompt = 150, .max_new = 3};
    for (const std::uint32_t long_prompt : {decoder::no_prompt_is_long, 100U}) {
        for (const std::uint32_t pages : {10'000U, 60U, 20U, 10U}) {
            for (const std::uint32_t items : {200U, 120U, 1U}) {
                SCOPED_TRACE(testing::Message()
                             << "long from " << long_prompt << ", " << pages << " pages, items " << items);
                const decoder::Sizes sizes{
                    .slots = 50, .rows = 1024, .text_pages = 10, .pages = pages, .items = items, .prompt_pages = 9};
                PlannedChunk chunk(*device, sizes, sampling, long_prompt, true);
                for (const std::uint32_t seed : {1U, 2U, 3U}) {
                    const Prompts prompts = branching_prompts(200, sampling.max_prompt, seed);
                    const std::uint64_t rows_before = chunk.rows();
                    const std::uint64_t shared_before = chunk.counts().shared;

                    ASSERT_NO_FATAL_FAILURE(expect_all_passes(chunk, prompts, sampling));

                    EXPECT_LE(chunk.shared_pages(), decoder::most_shared_pages(sizes));
                    if (pages != 10'000) {
                        continue;
                    }
                    const Prompts sharing(prompts.begin(), prompts.begin() + items);
                    const std::vector<std::uint32_t> common = pages_in_common(sharing, long_prompt);
                    const std::vector<decoder::PrefixPath> paths = chunk.paths(items);
                    std::set<std::pair<Prefix, std::uint32_t>> computed;
                    std::uint64_t saved = 0;
                    for (std::size_t i = 0; i < sharing.size(); ++i) {
                        EXPECT_EQ(paths[i].shared, common[i]) << i;
                        saved += std::uint64_t{16} * common[i];
                        for (std::uint32_t pages_of = 1; pages_of <= common[i]; ++pages_of) {
                            // Long prompts that differ on one of four pages share none of the four.
                            const std::uint32_t unit = sharing[i].size() >= long_prompt ? 4 : 1;
                            const std::uint32_t of_unit = (pages_of + unit - 1) / unit * unit;
                            computed.emplace(prefix_of(sharing[i], of_unit, long_prompt), pages_of);
                        }
                    }
                    EXPECT_EQ(chunk.shared_pages(), computed.size());
                    saved -= 16 * computed.size();
                    std::uint64_t all = prompts.size() * (sampling.max_new - std::uint64_t{1});
                    for (const std::vector<std::uint32_t>& prompt : prompts) {
                        all += prompt.size();
                    }
                    EXPECT_EQ(saved != 0, items != 1);
                    EXPECT_EQ(chunk.rows() - rows_before, all - saved);
                    EXPECT_EQ(chunk.counts().shared - shared_before, saved);
                }
            }
        }
    }
}

TEST_F(DecoderPrefixPlansOnGpu, SharesAsMuchOfAPrefixAsThereIsRoomFor) {
    const auto device = make_cuda_device(0);
    constexpr TokenSampling sampling{.max_prompt = 150, .max_new = 3};
    Prompts prompts(200, std::vector<std::uint32_t>(110, 3));
    for (std::uint32_t i = 0; i < prompts.size(); ++i) {
        prompts[i][100] = i;
    }
    for (const auto& [pages, expected] : {std::pair{10'000U, 6U}, {60U, 6U}, {20U, 2U}, {14U, 1U}, {10U, 0U}}) {
        SCOPED_TRACE(pages);
        PlannedChunk chunk(
            *device, {.slots = 50, .rows = 1024, .text_pages = 10, .pages = pages, .items = 200, .prompt_pages = 9},
            sampling);

        ASSERT_NO_FATAL_FAILURE(expect_all_passes(chunk, prompts, sampling));

        EXPECT_EQ(chunk.shared_pages(), expected);
    }
}

/// Each of these prompts goes on where the one before has its last token.
TEST_F(DecoderPrefixPlansOnGpu, SharesUpToSoManyLevelsOfPrefixes) {
    const auto device = make_cuda_device(0);
    constexpr std::uint32_t count = decoder::prefix_levels + 6;
    constexpr std::uint32_t page = decoder::page_positions;
    constexpr TokenSampling sampling{.max_prompt = count * page + 1, .max_new = 2};
    Prompts prompts(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        prompts[i].resize((i + 1) * page + 1, 100'000 + i);
        for (std::uint32_t t = 0; t < (i + 1) * page; ++t) {
            prompts[i][t] = t * 7919 % 50'000;
        }
    }
    PlannedChunk chunk(
        *device,
        {.slots = 100, .rows = 2048, .text_pages = count + 1, .pages = 20'000, .items = count, .prompt_pages = count},
        sampling);

    ASSERT_NO_FATAL_FAILURE(expect_all_passes(chunk, prompts, sampling));

    EXPECT_EQ(chunk.shared_pages(), decoder::prefix_levels);
    const std::vector<decoder::PrefixPath> paths = chunk.paths(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        EXPECT_EQ(paths[i].shared, std::min(i + 1, decoder::prefix_levels)) << i;
    }
}

/// A few prompts with the same begin are not worth passes of their own.
TEST_F(DecoderPrefixPlansOnGpu, SharesNothingThatSavesLittle) {
    const auto device = make_cuda_device(0);
    constexpr TokenSampling sampling{.max_prompt = 20, .max_new = 2};
    PlannedChunk chunk(*device,
                       {.slots = 100, .rows = 2048, .text_pages = 2, .pages = 1000, .items = 200, .prompt_pages = 1},
                       sampling);
    for (const std::uint32_t same : {2U, 10U}) {
        Prompts prompts(200, std::vector<std::uint32_t>(20));
        for (std::uint32_t i = 0; i < prompts.size(); ++i) {
            prompts[i][0] = i < same ? 0 : i;
            prompts[i][19] = i;
        }

        expect_all_passes(chunk, prompts, sampling);

        EXPECT_EQ(chunk.shared_pages(), same == 2 ? 0U : 1U);
    }
}

std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31U);
}

/// Pages whose tokens have the same hash by design: the second two make up for the first two.
TEST_F(DecoderPrefixPlansOnGpu, DoesNotTakePagesOfEqualHashesForEqual) {
    const auto device = make_cuda_device(0);
    constexpr TokenSampling sampling{.max_prompt = 40, .max_new = 2};
    PlannedChunk chunk(*device,
                       {.slots = 100, .rows = 2048, .text_pages = 3, .pages = 1000, .items = 60, .prompt_pages = 2},
                       sampling);
    Prompts prompts(60, std::vector<std::uint32_t>(40));
    for (std::uint32_t i = 0; i < prompts.size(); ++i) {
        const std::uint64_t first = i % 3;
        const std::uint64_t second = mixed(first);
        prompts[i][0] = static_cast<std::uint32_t>(first);
        prompts[i][2] = static_cast<std::uint32_t>(second);
        prompts[i][3] = static_cast<std::uint32_t>(second >> 32U);
    }

    expect_all_passes(chunk, prompts, sampling);  // compares the tokens

    const std::vector<decoder::PrefixPath> paths = chunk.paths(60);
    EXPECT_EQ(paths[3].shared, 2U);  // as the first of all
    EXPECT_EQ(paths[4].shared, 0U);
}

/// What lies behind a shorter prompt are zeros, too, and an id.
TEST_F(DecoderPrefixPlansOnGpu, DoesNotTakeWhatLiesBehindAPromptForItsTokens) {
    const auto device = make_cuda_device(0);
    constexpr TokenSampling sampling{.max_prompt = 128, .max_new = 2};
    const auto prompt = [](std::initializer_list<std::pair<std::size_t, std::uint32_t>> parts) {
        std::vector<std::uint32_t> tokens;
        for (const auto& [count, token] : parts) {
            tokens.insert(tokens.end(), count, token);
        }
        return tokens;
    };
    for (const Prompts& prompts :
         {Prompts{prompt({{40, 0}}), prompt({{96, 0}, {16, 7}, {1, 1}}), prompt({{96, 0}, {16, 7}, {1, 2}}),
                  prompt({{32, 8}, {1, 1}}), prompt({{32, 8}, {1, 2}})},
          Prompts{prompt({{33, 0}}), prompt({{100, 0}}), prompt({{100, 0}}), prompt({{16, 0}}), prompt({{1, 0}})}}) {
        PlannedChunk chunk(*device,
                           {.slots = 50, .rows = 1024, .text_pages = 9, .pages = 1000, .items = 5, .prompt_pages = 7},
                           sampling);

        ASSERT_NO_FATAL_FAILURE(expect_all_passes(chunk, prompts, sampling));

        EXPECT_EQ(chunk.shared_pages(), prompts[0].size() == 40 ? 9U : 6U);
    }
}

/// Of drafts that are checked: those of others are not computed. All of them turn out to be right.
TEST_F(DecoderPrefixPlansOnGpu, SharesPrefixesOfChecks) {
    const auto device = make_cuda_device(0);
    constexpr TokenSampling sampling{.max_prompt = 60, .max_new = 2};
    constexpr std::uint32_t items = 40;
    const decoder::Rule rule = decoder::rule_of(sampling);
    const decoder::PlanMemory plan(
        *device, {.slots = 64, .rows = 1024, .text_pages = 4, .pages = 1000, .items = items, .prompt_pages = 3});
    const decoder::Memory memory = plan.memory();
    std::vector<std::byte> in(items * rule.io.input_bytes);
    std::vector<std::byte> out(items * rule.io.output_bytes);
    std::vector<ChoiceDoubt> choices(items * sampling.max_new);
    std::uint32_t own_rows = 0;
    for (std::uint32_t i = 0; i < items; ++i) {
        const bool is_checked = i % 4 == 1;
        std::vector<std::uint32_t> tokens(41 + i % 10, is_checked ? 5 : 6);
        tokens[40] = i;
        const PromptStart start{.number = i, .tokens = static_cast<std::uint32_t>(tokens.size())};
        const ContinuationStart draft{.tokens = sampling.max_new, .prompt = start.tokens};
        std::memcpy(&in[i * rule.io.input_bytes], &start, sizeof start);
        std::memcpy(&in[i * rule.io.input_bytes + sizeof start], tokens.data(), tokens.size() * sizeof(std::uint32_t));
        std::memcpy(&out[i * rule.io.output_bytes], &draft, sizeof draft);
        for (std::uint32_t t = 0; t < sampling.max_new; ++t) {
            choices[i * sampling.max_new + t].doubt = {.distance = 9, .gap = is_checked && t == 0 ? 0.0F : 9.0F};
        }
        own_rows += is_checked ? start.tokens - 32 : 0;
    }
    const DeviceMemory items_memory{std::span<const std::byte>(in)};
    const DeviceMemory results{std::span<const std::byte>(out)};
    const DeviceMemory of_choices(std::as_bytes(std::span(choices)));
    const TextDoubt bounds{.distance = 1, .gap = 1};
    const DeviceMemory bounds_memory(std::as_bytes(std::span(&bounds, 1)));
    const DeviceMemory checks(items * sizeof(decoder::Check));
    const DeviceMemory doubts(items * sizeof(TextDoubt));
    const decoder::Drafts drafts{.items = items_memory.as<const std::byte>(),
                                 .results = results.as<std::byte>(),
                                 .choices = of_choices.as<const ChoiceDoubt>(),
                                 .bounds = bounds_memory.as<const TextDoubt>(),
                                 .checks = checks.as<decoder::Check>(),
                                 .doubts = doubts.as<TextDoubt>(),
                                 .count = items};
    const auto batch = [&] { return read_back(memory.batch, 1)[0]; };

    enqueue_begin_checks(memory, rule, drafts, nullptr);
    EXPECT_EQ(batch().prefixes, 1U);
    EXPECT_EQ(batch().shared_pages, 2U);
    EXPECT_EQ(batch().rows, 32U);
    EXPECT_EQ(batch().entries, 1U);
    const std::uint32_t prefix_slot = read_back(memory.entries, 1)[0].slot;
    const std::vector<std::uint32_t> shared = read_back(memory.page_table + prefix_slot * 4, 2);
    for (const decoder::Row& row : read_back(memory.rows, 32)) {
        EXPECT_EQ(row.token, 5U);
    }

    enqueue_settle_checks(memory, rule, drafts, nullptr);
    EXPECT_EQ(batch().rows, own_rows);
    ASSERT_EQ(batch().entries, items / 4);
    for (const decoder::Entry& entry : read_back(memory.entries, items / 4)) {
        EXPECT_EQ(entry.first_position, 32U);
        EXPECT_EQ(read_back(memory.page_table + entry.slot * 4, 2), shared);
    }
    for (const decoder::Row& row : read_back(memory.rows, own_rows)) {
        EXPECT_GE(row.position, 32U);
    }

    enqueue_settle_checks(memory, rule, drafts, nullptr);
    EXPECT_EQ(batch().rows, 0U);
    EXPECT_EQ(batch().checked, items / 4);
    EXPECT_EQ(batch().free_pages, 1000U);
}

}  // namespace
}  // namespace sluice
