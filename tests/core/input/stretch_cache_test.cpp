#include "core/input/stretch_cache.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace sluice {
namespace {

RecordStretch stretch_of(std::size_t bytes) {
    return {.text = std::string(bytes, 'x'), .records = {}};
}

TEST(StretchCache, LoadsAStretchOnceForAllWhoTakePartsOfIt) {
    StretchCache cache;
    int loads = 0;
    const auto load = [&loads] {
        ++loads;
        return stretch_of(100);
    };

    for (std::uint64_t part = 0; part < 4; ++part) {
        EXPECT_EQ(cache.take(7, 8, 2, load)->text.size(), 100U);
        EXPECT_EQ(cache.bytes(), part < 3 ? 100U : 0U) << "kept until all of it was taken";
    }

    EXPECT_EQ(loads, 1);
}

TEST(StretchCache, KeepsNoMoreThanItsBytes) {
    constexpr std::size_t stretch_bytes = std::size_t{1} << 20;
    constexpr std::size_t most = std::size_t{8} << 20;
    StretchCache cache;
    const auto load = [] { return stretch_of(stretch_bytes); };

    for (std::uint64_t key = 0; key < 50; ++key) {
        static_cast<void>(cache.take(key, 2, 1, load));
        EXPECT_LE(cache.bytes(), most);
    }

    EXPECT_EQ(cache.bytes(), most);
}

TEST(StretchCache, TriesAgainAfterALoadThatFailed) {
    StretchCache cache;
    const auto fail = []() -> RecordStretch { throw std::runtime_error("no"); };
    const auto load = [] { return stretch_of(3); };

    EXPECT_THROW(static_cast<void>(cache.take(1, 2, 1, fail)), std::runtime_error);

    EXPECT_EQ(cache.take(1, 2, 1, load)->text, "xxx");
}

}  // namespace
}  // namespace sluice
