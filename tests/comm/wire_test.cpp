#include "comm/wire.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "tests/support/error_of.hpp"

namespace sluice {
namespace {

TEST(Tags, AreUpToTheLargestOne) {
    EXPECT_EQ(tags::largest(1, 1), static_cast<std::uint64_t>(tags::outputs(0, 0, 1)));
    EXPECT_EQ(tags::largest(4, 3), static_cast<std::uint64_t>(tags::outputs(3, 2, 3)));
    EXPECT_EQ(tags::largest(1024, 1024), static_cast<std::uint64_t>(tags::outputs(1023, 1023, 1024)));
}

TEST(Tags, FitIntoTheLeastThatMpiPromisesForAnyUsualJob) {
    check_tags(64, 128, 32'767);
    check_tags(1, 1, tags::largest(1, 1));
    check_tags(0, 0, 0);
}

TEST(Tags, AreRefusedWhenMpiHasNotEnough) {
    for (const auto& [devices, depth] : {std::pair<std::uint64_t, std::uint64_t>{1, 1024}, {1024, 1024}, {4, 3}}) {
        const Error error = test::error_of([&] { check_tags(devices, depth, tags::largest(devices, depth) - 1); });

        EXPECT_EQ(error.code(), ExitCode::configuration);
        EXPECT_EQ(error.text().id, "E-MPI-109");
    }
}

}  // namespace
}  // namespace sluice
