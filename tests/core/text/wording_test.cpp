#include "core/text/wording.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace sluice {
namespace {

constexpr std::array<std::string_view, 4> some_names{"depth", "devices", "device", "mode"};

TEST(TextColumns, AreAsWideAsTheCharactersOfTheWidestCell) {
    EXPECT_EQ(text_columns({{"µs", "a"}, {"s", "bcd"}}), "  µs  a\n  s   bcd\n");
    EXPECT_EQ(text_columns({{"…"}, {"", "x"}}), "  …\n     x\n");
}

TEST(RateText, KeepsSensibleDigits) {
    EXPECT_EQ(rate_text(0), "0");
    EXPECT_EQ(rate_text(0.01234), "0.0123");
    EXPECT_EQ(rate_text(8.326), "8.33");
    EXPECT_EQ(rate_text(44.16), "44.2");
    EXPECT_EQ(rate_text(812.4), "812");
    EXPECT_EQ(rate_text(22306.7), "22307");
    EXPECT_EQ(rate_text(999'960), "999960");
    EXPECT_EQ(rate_text(1.25e6), "1250000");
}

TEST(TimeText, HasThreeSignificantDigitsAndAUnit) {
    EXPECT_EQ(time_text(123.4), "123 s");
    EXPECT_EQ(time_text(1.854), "1.85 s");
    EXPECT_EQ(time_text(0.0234), "23.4 ms");
    EXPECT_EQ(time_text(0.000512), "512 µs");
    EXPECT_EQ(time_text(0), "0.00 µs");
    EXPECT_EQ(time_text(-0.002), "-2.00 ms");
}

TEST(ReplaceAll, ReplacesEachPlaceOnce) {
    EXPECT_EQ(replace_all("{p} run && {p} status", "{p}", "my-app"), "my-app run && my-app status");
    EXPECT_EQ(replace_all("aaa", "aa", "aab"), "aaba") << "what was put in is not looked at again";
    EXPECT_EQ(replace_all("none", "{p}", "my-app"), "none");
    EXPECT_EQ(replace_all("", "{p}", "my-app"), "");
}

TEST(FirstOf, NamesAsManyAsItMay) {
    const std::vector<std::uint64_t> items{3, 17, 20, 4000};

    EXPECT_EQ(first_of({}), "");
    EXPECT_EQ(first_of(items), "3, 17, 20, 4000");
    EXPECT_EQ(first_of(items, 4), "3, 17, 20, 4000");
    EXPECT_EQ(first_of(items, 3), "3, 17, 20, …");
}

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("abc", ""), 3U);
    EXPECT_EQ(edit_distance("depth", "detph"), 1U);
    EXPECT_EQ(edit_distance("depth", "deeth"), 1U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
    EXPECT_EQ(edit_distance("ca", "abc"), 3U);  // optimal string alignment: 2 would edit a part twice
}

TEST(ClosestName, IsTheNearestOne) {
    EXPECT_EQ(closest_name("detph", some_names), "depth");
    EXPECT_EQ(closest_name("devicse", some_names), "devices");
    EXPECT_EQ(closest_name("devce", some_names), "device");
}

TEST(ClosestName, IsFoundInCapitals) {
    EXPECT_EQ(closest_name("MODE", some_names), "mode");
    EXPECT_EQ(closest_name("Devicse", some_names), "devices");
}

TEST(ClosestName, IsTheOnlyOneThatBeginsSo) {
    constexpr std::array<std::string_view, 3> names{"no-progress", "no-files", "time-left"};

    EXPECT_EQ(closest_name("no-prog", names), "no-progress");
    EXPECT_EQ(closest_name("TIME", names), "time-left");
    EXPECT_EQ(closest_name("no", names), "");
    EXPECT_EQ(closest_name("progress", names), "");
}

TEST(ClosestName, IsEmptyWhenNothingIsNear) {
    EXPECT_EQ(closest_name("", some_names), "");
    EXPECT_EQ(closest_name("zzzzz", some_names), "");
    EXPECT_EQ(closest_name("x", some_names), "");
    EXPECT_EQ(closest_name(std::string(1'000'000, 'd'), some_names), "");
    EXPECT_EQ(closest_name("depth", {}), "");
}

TEST(DidYouMean, IsReadyToBeAppended) {
    EXPECT_EQ(did_you_mean("mod", some_names), "; did you mean 'mode'?");
    EXPECT_EQ(did_you_mean("zzzzz", some_names), "");
}

}  // namespace
}  // namespace sluice
