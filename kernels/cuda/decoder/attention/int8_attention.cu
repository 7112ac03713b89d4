#include "kernels/cuda/decoder/attention/quantised_attention.cuh"

namespace sluice::decoder {

QuantisedKernels int8_kernels(Precision precision, std::uint32_t head_size) {
    return quantised_kernels<KvCache::int8>(precision, head_size);
}

}  // namespace sluice::decoder
