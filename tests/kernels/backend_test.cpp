#include <gtest/gtest.h>

#include "core/error.hpp"
#include "core/host_device.hpp"
#include "kernels/kernels.hpp"
#include "tests/support/recording_device.hpp"

namespace sluice {
namespace {

TEST(KernelsOf, AreTheSameForAllHostDevices) {
    const HostDevice first(0);
    const HostDevice second(1);

    EXPECT_EQ(&kernels_of(first), &kernels_of(second));
}

TEST(KernelsOf, SayWhichDeviceThisBuildHasNoneFor) {
    test::Script script;
    const test::RecordingDevice device(script);

    try {
        static_cast<void>(kernels_of(device));
        ADD_FAILURE() << "did not fail";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::unavailable);
        EXPECT_EQ(error.text().where, "device 'recording'");
    }
}

}  // namespace
}  // namespace sluice
