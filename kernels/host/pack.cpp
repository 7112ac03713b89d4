#include "kernels/host/pack.hpp"

namespace sluice {

PackedWeights::Room reserve_copy(PackedWeights& packed, const WeightValues& values) {
    return packed.reserve(values.size() * sizeof(float),
                          {[values](std::byte* room) { values.read(reinterpret_cast<float*>(room)); }});
}

PackedWeights::Room reserve_transposed(PackedWeights& packed, std::span<const float> values, std::size_t channels,
                                       std::size_t positions) {
    return packed.reserve(values.size_bytes(), {[values, channels, positions](std::byte* room) {
                              float* const to = reinterpret_cast<float*>(room);
                              for (std::size_t p = 0; p < positions; ++p) {
                                  for (std::size_t c = 0; c < channels; ++c) {
                                      to[p * channels + c] = values[c * positions + p];
                                  }
                              }
                          }});
}

}  // namespace sluice
