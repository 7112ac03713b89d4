#include <gtest/gtest.h>

#include "core/error.hpp"
#include "kernels/kernels.hpp"

namespace sluice {
namespace {

TEST(KernelsOf, SayWhenThisBuildHasNone) {
    try {
        static_cast<void>(kernels_of(DeviceKind::cuda));
        ADD_FAILURE() << "did not fail";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::unavailable);
        EXPECT_EQ(error.text().where, "run.device");
    }
}

}  // namespace
}  // namespace sluice
