#include "core/error.hpp"
#include "tests/e2e/babble_model.hpp"

namespace sluice::test {

std::unique_ptr<Model> make_cuda_babble(const BabbleOptions&, Device&, const ModelRoom&) {
    throw ContractViolation("a CUDA model in a build without CUDA");
}

}  // namespace sluice::test
