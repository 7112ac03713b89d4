#include <gtest/gtest.h>

#include "core/error.hpp"
#include "kernels/kernels.hpp"
#include "tests/support/error_of.hpp"

namespace sluice {
namespace {

TEST(KernelsOf, SayWhenThisBuildHasNone) {
    const Error error = test::error_of([&] { return kernels_of(DeviceKind::cuda); });

    EXPECT_EQ(error.code(), ExitCode::unavailable);
    EXPECT_EQ(error.text().where, "run.device");
}

}  // namespace
}  // namespace sluice
