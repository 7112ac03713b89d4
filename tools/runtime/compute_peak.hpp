#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/config/config.hpp"
#include "core/device.hpp"
#include "kernels/host_instructions.hpp"
#include "scheduler/roofline.hpp"

namespace sluice {

/// FLOP/s of `device`: the best of a few matrix products with the backend that apps use. Takes 0.1 s, on a GPU 0.5 s
/// and some 300 MiB of its memory. `precision` as in ProductWork. Throws Error.
[[nodiscard]] double measure_peak(Device& device, DeviceKind kind, Precision precision);

/// For this host and the instructions that a run uses.
[[nodiscard]] std::string key_of_host_peak(HostInstructions instructions);
[[nodiscard]] std::string key_of_gpu_peak(std::string_view kind, Precision precision);  ///< cuda_device_kind()

struct PeakSearch {
    std::optional<std::filesystem::path> file{};  ///< cost_cache_file()
    std::string key{};
    std::uint32_t products = 1;         ///< Products that the run computes for one.
    bool may_measure = false;           ///< The run was long enough for a measurement.
    std::function<double()> measure{};  ///< Peak of single products, which the file then stores.
};

/// Sets `roofline.peak` to the stored or measured peak divided by `products`, or `roofline.note` to why there is none,
/// such as a failed measurement.
void set_peak(Roofline& roofline, const PeakSearch& search);

}  // namespace sluice
