#include "core/device/cuda.hpp"
#include "core/device/profiler_range.hpp"
#include "core/error.hpp"

namespace sluice {

ProfilerRange::ProfilerRange(Stage /*stage*/, const Chunk& /*chunk*/) {}
ProfilerRange::~ProfilerRange() = default;

bool built_with_cuda() noexcept {
    return false;
}

std::uint32_t cuda_device_count() {
    return 0;
}

std::vector<CudaGpu> cuda_gpus() {
    return {};
}

std::string why_no_cuda() {
    return "built without CUDA";
}

namespace {

[[noreturn]] void refuse() {
    throw Error(ExitCode::unavailable, {.id = "E-GPU-063",
                                        .where = "run.device",
                                        .what = "got \"cuda\", but this sluice was built without CUDA",
                                        .hint = "set run.device = \"host\", or build with the preset 'cuda'"});
}

}  // namespace

void check_cuda_driver() {
    refuse();
}

std::string cuda_device_model(std::uint32_t) {
    refuse();
}

std::string cuda_device_uuid(std::uint32_t) {
    refuse();
}

std::string cuda_device_kind(std::uint32_t) {
    refuse();
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): the one with CUDA changes them
bool start_cuda_contexts(std::vector<std::uint32_t>, const std::function<void(std::uint32_t)>&) {
    return false;
}

std::unique_ptr<Device> make_cuda_device(std::uint32_t, const CudaDeviceOptions&) {
    refuse();
}

}  // namespace sluice
