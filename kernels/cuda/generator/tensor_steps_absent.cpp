#include "core/error.hpp"
#include "kernels/cuda/generator/steps.hpp"

namespace sluice::generator {

std::unique_ptr<Steps> make_tensor_steps(Device&, const GruShape&, Precision, const WeightsOnDevice&, std::uint32_t) {
    throw ContractViolation("generator: wgmma in a build without code for sm_90a");
}

}  // namespace sluice::generator
