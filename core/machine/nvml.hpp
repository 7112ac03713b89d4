#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sluice {

/// One sample of a GPU; nullopt: it does not tell.
struct GpuReading {
    std::optional<double> clock_mhz{};      ///< Of its multiprocessors, at present.
    std::optional<double> watts{};          ///< At present, or averaged over about a second.
    std::optional<double> joules{};         ///< Since the driver was loaded.
    std::optional<std::uint64_t> limits{};  ///< Reasons for reduced clocks: bits of gpu_limits.
    friend bool operator==(const GpuReading&, const GpuReading&) = default;
};

/// NVIDIA's management library (NVML), loaded at run time: building needs neither the toolkit nor a GPU. Used by one
/// thread at a time.
class Nvml {
public:
    /// Loads and starts `library`.
    explicit Nvml(const std::string& library = "libnvidia-ml.so.1");
    ~Nvml();
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    /// Why it cannot be used, or why the last find() failed; escaped. Empty: no problem.
    [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

    /// The library's handle of a GPU; valid while this object lives.
    using Gpu = void*;

    /// Finds a GPU by its UUID ("GPU-…") or address, regardless of CUDA_VISIBLE_DEVICES. Null: see problem().
    [[nodiscard]] Gpu find(const std::string& uuid_or_address);

    [[nodiscard]] GpuReading read(Gpu gpu) const;

private:
    struct Library;
    std::unique_ptr<Library> library_;
    std::string problem_;
};

}  // namespace sluice
