#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/device/cuda.hpp"

namespace sluice {

/// The machine's GPUs that this process may open, in the order of their addresses, as NVIDIA's kernel module describes
/// them in `proc`/gpus: CUDA is not asked, and so does not start yet. nullopt: CUDA has to be asked, because there is
/// no such description, a GPU has instances (MIG), or the GPUs are of several models, which CUDA puts in an order of
/// its own.
[[nodiscard]] std::optional<std::vector<CudaGpu>> read_driver_gpus(
    const std::filesystem::path& proc = "/proc/driver/nvidia", const std::filesystem::path& dev = "/dev");

}  // namespace sluice
