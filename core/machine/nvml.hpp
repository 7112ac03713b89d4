#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sluice {

/// What one look at a GPU tells; nullopt: it does not say.
struct GpuReading {
    std::optional<double> clock_mhz{};      ///< Of its multiprocessors, now.
    std::optional<double> watts{};          ///< Now, or of about the last second.
    std::optional<double> joules{};         ///< Since the driver was loaded.
    std::optional<std::uint64_t> limits{};  ///< What its clocks are held down by: bits of gpu_limits.
    friend bool operator==(const GpuReading&, const GpuReading&) = default;
};

/// NVIDIA's management library (NVML), looked for at run time: neither the toolkit nor a GPU is needed to build. One
/// thread uses it at a time.
class Nvml {
public:
    /// Loads and starts `library`.
    explicit Nvml(const std::string& library = "libnvidia-ml.so.1");
    ~Nvml();
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    /// Why it cannot be used, or why the last GPU was not found; escaped. Empty: it can, and was.
    [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

    /// A GPU in the library, for as long as this lives.
    using Gpu = void*;

    /// By "GPU-…", its UUID, which CUDA_VISIBLE_DEVICES does not change, else by its address. Null: problem() says why.
    [[nodiscard]] Gpu find(const std::string& uuid_or_address);

    [[nodiscard]] GpuReading read(Gpu gpu) const;

private:
    struct Library;
    std::unique_ptr<Library> library_;
    std::string problem_;
};

}  // namespace sluice
