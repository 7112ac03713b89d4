#include "core/function_ref.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

int sum_of_two(FunctionRef<int(int)> action) {
    return action(1) + action(2);
}

TEST(FunctionRef, CallsATemporaryOfTheSameCall) {
    const int factor = 10;

    EXPECT_EQ(sum_of_two([&factor](int x) { return factor * x; }), 30);
}

TEST(FunctionRef, CallsWhatItRefersToAndNoCopy) {
    int calls = 0;
    auto counting = [calls](int x) mutable { return x + 10 * calls++; };
    const FunctionRef<int(int)> reference(counting);

    EXPECT_EQ(sum_of_two(reference), 1 + 12);
    EXPECT_EQ(counting(0), 20);
}

}  // namespace
}  // namespace sluice
