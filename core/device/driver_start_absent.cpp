#include "core/device/driver_start.hpp"

namespace sluice {

bool built_with_cuda() noexcept {
    return false;
}

DriverStart::DriverStart(std::vector<std::uint32_t>) {}

}  // namespace sluice
