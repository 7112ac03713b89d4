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

/// FLOP per second of `device`, by the best of a few matrix products of the backend that apps compute with: a tenth of
/// a second, on a GPU half a second and some 300 MiB of its memory. `precision` is that of a ProductWork. Throws Error.
[[nodiscard]] double measure_peak(Device& device, DeviceKind kind, Precision precision);

/// On this host, with the instructions that a run computes with.
[[nodiscard]] std::string key_of_host_peak(HostInstructions instructions);
[[nodiscard]] std::string key_of_gpu_peak(std::string_view kind, Precision precision);  ///< cuda_device_kind()

struct PeakSearch {
    std::optional<std::filesystem::path> file{};  ///< cost_cache_file()
    std::string key{};
    std::uint32_t products = 1;         ///< Of which the run makes one.
    bool may_measure = false;           ///< The run was so long that the measurement does not count.
    std::function<double()> measure{};  ///< Of single products; what is kept in the file then.
};

/// `roofline` with the peak that the file holds, or that was measured, shared among the products of one, or the note
/// why there is none: a measurement that fails says so there.
void find_peak(Roofline& roofline, const PeakSearch& search);

}  // namespace sluice
