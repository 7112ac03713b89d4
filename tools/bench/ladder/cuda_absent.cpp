#include "core/device/cuda.hpp"
#include "core/error.hpp"
#include "tools/bench/ladder/ladder.hpp"

namespace sluice::ladder {

bool has_cuda_ladder(std::string& why) {
    why = why_no_cuda();
    return false;
}

std::vector<std::uint32_t> cuda_rung_numbers() {
    return {};
}

LadderResult climb_cuda(const LadderOptions&, const Report&) {
    throw ContractViolation("ladder: a build without CUDA");
}

}  // namespace sluice::ladder
