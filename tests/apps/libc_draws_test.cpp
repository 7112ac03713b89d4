#include "apps/namegen/libc_draws.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

namespace sluice::namegen {
namespace {

constexpr std::uint32_t seeds[]{0, 1, 2, 4155, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};

TEST(LibcRandom, GivesWhatTheLibraryGives) {
    for (const std::uint32_t seed : seeds) {
        ::srand(seed);
        LibcRandom random(seed);
        for (int i = 0; i < 20'000; ++i) {
            ASSERT_EQ(random.next(), static_cast<std::uint32_t>(::rand())) << "seed " << seed << ", number " << i;
        }
    }
}

TEST(LibcRandom, JumpsToAnyPlace) {
    constexpr std::uint64_t most = 100'000;
    for (const std::uint32_t seed : seeds) {
        std::vector<std::uint32_t> numbers;
        LibcRandom in_order(seed);
        for (std::uint64_t i = 0; i < most + 40; ++i) {
            numbers.push_back(in_order.next());
        }
        LibcRandom random(seed);
        for (const std::uint64_t place : {std::uint64_t{99'999}, std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{30},
                                          std::uint64_t{31}, std::uint64_t{65'536}, most}) {
            random.jump_to(place);
            for (std::uint64_t i = place; i < place + 40; ++i) {
                ASSERT_EQ(random.next(), numbers[i]) << "seed " << seed << ", from " << place;
            }
        }
    }
}

TEST(LibcRandom, JumpsFarAsInTwoSteps) {
    LibcRandom there(7);
    there.jump_to((std::uint64_t{1} << 50U) + 3);
    LibcRandom before(7);
    before.jump_to(std::uint64_t{1} << 50U);
    for (int i = 0; i < 3; ++i) {
        static_cast<void>(before.next());
    }

    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(there.next(), before.next());
    }
}

/// (float)rand() / (float)RAND_MAX in a loop over all items, which is what a program without ranks does.
std::vector<float> in_one_loop(std::uint32_t seed, std::size_t count) {
    ::srand(seed);
    std::vector<float> draws(count);
    for (float& draw : draws) {
        draw = static_cast<float>(::rand()) / static_cast<float>(RAND_MAX);
    }
    return draws;
}

TEST(LibcDraws, BelongToItemsInTheirOrder) {
    constexpr std::uint32_t each = 10;
    constexpr std::uint64_t items = 9'000;  // of three blocks
    const std::vector<float> expected = in_one_loop(4155, items * each);
    const LibcDraws draws(4155, each);
    for (std::uint64_t i = 0; i < items; ++i) {
        const std::uint64_t item = i * 7'919 % items;
        std::vector<float> got(each);

        draws.of_item(item, got);

        ASSERT_EQ(got, std::vector<float>(expected.begin() + static_cast<std::ptrdiff_t>(item * each),
                                          expected.begin() + static_cast<std::ptrdiff_t>((item + 1) * each)))
            << item;
    }
}

TEST(LibcDraws, AreTheRightOnesOfItemsBehindFourBillionNumbers) {
    constexpr std::uint32_t each = 7;
    constexpr std::uint64_t item = (std::uint64_t{1} << 34U) + 3;
    LibcRandom random(5);
    random.jump_to(item * each);
    std::vector<float> expected(each);
    std::ranges::generate(expected, [&] { return static_cast<float>(random.next()) / static_cast<float>(RAND_MAX); });
    std::vector<float> got(each);

    LibcDraws(5, each).of_item(item, got);

    EXPECT_EQ(got, expected);
}

TEST(LibcDraws, AreTheSameForManyThreads) {
    constexpr std::uint32_t each = 3;
    constexpr std::uint64_t items = 20'000;
    const std::vector<float> expected = in_one_loop(1, items * each);
    const LibcDraws draws(1, each);
    std::vector<float> got(items * each);
    {
        std::vector<std::jthread> threads;
        for (std::uint64_t thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&, thread] {
                for (std::uint64_t item = thread; item < items; item += 4) {
                    draws.of_item(item, std::span(got).subspan(item * each, each));
                }
            });
        }
    }

    EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace sluice::namegen
