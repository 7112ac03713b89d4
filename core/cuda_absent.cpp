#include "core/cuda.hpp"
#include "core/error.hpp"

namespace sluice {

std::uint32_t cuda_device_count() {
    return 0;
}

std::vector<std::string> cuda_device_ids() {
    return {};
}

std::string why_no_cuda() {
    return "built without CUDA";
}

std::unique_ptr<Device> make_cuda_device(std::uint32_t) {
    throw Error(ExitCode::unavailable, {.id = "E-GPU-063",
                                        .where = "run.device",
                                        .what = "got \"cuda\", but this sluice was built without CUDA",
                                        .hint = "set run.device = \"host\", or build with the preset 'cuda'"});
}

}  // namespace sluice
