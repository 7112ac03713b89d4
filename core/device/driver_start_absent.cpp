#include "core/device/driver_start.hpp"

namespace sluice {

bool built_with_cuda() noexcept {
    return false;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): the one with CUDA keeps it
DriverStart::DriverStart(std::vector<std::uint32_t>) {}

}  // namespace sluice
