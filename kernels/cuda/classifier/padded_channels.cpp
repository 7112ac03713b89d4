#include "kernels/cuda/classifier/padded_channels.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace sluice {

std::vector<float> pad_channels(std::span<const float> values, std::size_t outer, std::uint32_t channels,
                                std::size_t inner) {
    expects(values.size() == outer * channels * inner, "padding: values of the wrong size");
    const std::size_t from = channels * inner;
    const std::size_t to = padded_channels(channels) * inner;
    std::vector<float> padded(outer * to);
    for (std::size_t i = 0; i < outer; ++i) {
        std::ranges::copy(values.subspan(i * from, from), padded.begin() + static_cast<std::ptrdiff_t>(i * to));
    }
    return padded;
}

}  // namespace sluice
