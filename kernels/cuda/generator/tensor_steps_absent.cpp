#include "core/error.hpp"
#include "kernels/cuda/generator/steps.hpp"

namespace sluice::generator {

std::unique_ptr<Steps> make_tensor_steps(Device& device, const GruShape&, Precision precision, const WeightsOnDevice&,
                                         std::uint32_t) {
    throw Error(ExitCode::unavailable,
                {.id = "E-GPU-063",
                 .where = "run.precision",
                 .what = std::string("a GRU in ") + std::string(name_of(precision)) +
                         " needs a build for 90a, got one without, for " + std::string(device.name()),
                 .hint = "set run.precision = \"fp32\", or build with CMAKE_CUDA_ARCHITECTURES=90a"});
}

}  // namespace sluice::generator
