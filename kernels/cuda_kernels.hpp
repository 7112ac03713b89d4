#pragma once

#include "kernels/kernels.hpp"

namespace sluice {

/// The kernels for `device`, which is not the host. Throws Error (unavailable) when this build has none for it.
[[nodiscard]] const Kernels& cuda_kernels(const Device& device);

}  // namespace sluice
