#include "core/device/copy_speed.hpp"

#include <gtest/gtest.h>

#include "core/device/host_device.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

TEST(CopySpeed, IsMeasuredBothWaysFromBothKindsOfMemory) {
    HostDevice device;

    const CopySpeed speed = measure_copies(device, std::size_t{1} << 20U);

    for (const double one : {speed.pinned_up, speed.pinned_down, speed.pageable_up, speed.pageable_down}) {
        EXPECT_GT(one, 0);
    }
    EXPECT_THROW(static_cast<void>(measure_copies(device, 0)), ContractViolation);
}

}  // namespace
}  // namespace sluice
