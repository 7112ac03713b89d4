#pragma once

#include <cstdint>

#include "apps/classifier/alphabet.hpp"
#include "kernels/convolution.hpp"
#include "kernels/dense.hpp"

namespace sluice::classifier {

/// Sizes in which classifiers may differ, determined by a weights file's tensors.
struct ClassifierSizes {
    std::uint32_t channels = 256;  ///< Of every convolution; a multiple of 64.
    std::uint32_t hidden = 1024;   ///< Outputs of fc1 and fc2.

    bool operator==(const ClassifierSizes&) const = default;
};

/// The shapes of all layers but the last, which makes classifier_classes scores of fc2's outputs.
struct ClassifierNetwork {
    explicit constexpr ClassifierNetwork(const ClassifierSizes& sizes)
        : conv1{.length = classifier_length,
                .symbols = classifier_symbols,
                .taps = 7,
                .channels = sizes.channels,
                .pool = pool},
          conv2{.length = conv1.positions() / pool,
                .in_channels = sizes.channels,
                .out_channels = sizes.channels,
                .taps = 7,
                .relu = true,
                .pool = pool},
          conv3(next(conv2, true)),
          conv4(next(conv3, true)),
          conv5(next(conv4, true)),
          conv6(next(conv5, false)),
          norm6{.positions = conv6.positions(), .channels = sizes.channels, .pool = pool},
          fc1{.inputs = norm6.positions / pool * sizes.channels,
              .outputs = sizes.hidden,
              .relu = true,
              .channels = sizes.channels},
          fc2{.inputs = sizes.hidden, .outputs = sizes.hidden, .relu = true} {}

    SymbolConvShape conv1;
    Conv1dShape conv2;
    Conv1dShape conv3;
    Conv1dShape conv4;
    Conv1dShape conv5;
    Conv1dShape conv6;
    NormShape norm6;
    LinearShape fc1;
    LinearShape fc2;

private:
    static constexpr std::uint32_t pool = 3;

    static constexpr Conv1dShape next(const Conv1dShape& before, bool relu) {
        return {.length = before.positions() / before.pool,
                .in_channels = before.out_channels,
                .out_channels = before.out_channels,
                .taps = 3,
                .relu = relu,
                .pool = 1};
    }
};

}  // namespace sluice::classifier
