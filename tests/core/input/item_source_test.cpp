#include "core/input/item_source.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

namespace sluice {
namespace {

/// Items of 8 bytes that hold their own number.
class NumberedItems final : public ItemSource {
public:
    explicit NumberedItems(std::uint64_t count) : count_(count) {}

    [[nodiscard]] std::uint64_t count() const override { return count_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return count_ * sizeof(std::uint64_t); }
    [[nodiscard]] InputReads reads() const noexcept override { return {}; }
    [[nodiscard]] std::uint32_t granularity() const noexcept override { return 1; }
    [[nodiscard]] std::string stamp() const override { return "numbers"; }
    [[nodiscard]] std::vector<SourceFile> files() const override { return {}; }
    void check_content() const override {}
    std::uint32_t read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const override {
        EXPECT_EQ(to.size(), count * sizeof(std::uint64_t));
        EXPECT_LE(first + count, count_);
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t number = first + i;
            std::memcpy(&to[i * sizeof number], &number, sizeof number);
        }
        return 0;
    }

private:
    std::uint64_t count_;
};

std::vector<std::uint64_t> sample(std::uint64_t count, std::uint32_t most) {
    const std::string bytes = read_sample(NumberedItems(count), count, most, sizeof(std::uint64_t));
    std::vector<std::uint64_t> numbers(bytes.size() / sizeof(std::uint64_t));
    if (!bytes.empty()) {
        std::memcpy(numbers.data(), bytes.data(), bytes.size());
    }
    return numbers;
}

TEST(Sample, IsAllOfAShortInput) {
    for (const std::uint64_t count : {0, 1, 63, 64, 65, 100, 2000}) {
        std::vector<std::uint64_t> all(count);
        std::iota(all.begin(), all.end(), std::uint64_t{0});
        const auto taken = sample(count, 2000);
        EXPECT_EQ(taken.size(), count);
        EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), count) << count;
    }
}

TEST(Sample, IsSpreadOverALongInputWithoutAnItemTwice) {
    for (const std::uint64_t count : {2001, 65537, 10'000'019}) {
        const auto taken = sample(count, 2000);
        EXPECT_EQ(taken.size(), 2000U);
        EXPECT_TRUE(std::ranges::is_sorted(taken));
        EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), 2000U);
        EXPECT_LT(taken.front(), count / 64);
        EXPECT_GE(taken.back(), count - count / 32);
        for (std::size_t i = 1; i < taken.size(); ++i) {
            EXPECT_LE(taken[i] - taken[i - 1], count / 32 + 1);
        }
    }
}

}  // namespace
}  // namespace sluice
