#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/primitives/precision.hpp"

namespace sluice {

/// That only a kernel may compute with.
inline constexpr Precision every_precision[] = {Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3,
                                                Precision::fp32};

/// That only a decoder may compute with, but for fp8.
inline constexpr Precision every_decoder_precision[] = {Precision::bf16,   Precision::fp16,   Precision::tf32,
                                                        Precision::tf32x3, Precision::fp16x2, Precision::fp32};

inline const char* name_of(MatrixInstructions instructions) {
    return instructions == MatrixInstructions::mma ? "mma.sync" : "wgmma";
}

/// Skips its tests, with the reason, where no GPU runs these kernels.
class OnGpu : public testing::Test {
protected:
    void SetUp() override {
        if (cuda_device_count() == 0) {
            GTEST_SKIP() << "no GPU: " << why_no_cuda();
        }
        try {
            device_ = make_cuda_device(0);
        } catch (const Error& error) {
            if (error.code() != ExitCode::unavailable) {
                throw;
            }
            GTEST_SKIP() << render(error.text());
        }
    }

    [[nodiscard]] const CudaDevice& gpu() const { return as_cuda(*device_); }

    /// What this GPU and build multiply by: a Hopper GPU runs what is for others too.
    [[nodiscard]] std::vector<MatrixInstructions> ways() const {
        std::vector<MatrixInstructions> all{MatrixInstructions::mma};
        if (gpu().instructions() == MatrixInstructions::wgmma) {
            all.push_back(MatrixInstructions::wgmma);
        }
        return all;
    }

private:
    std::unique_ptr<Device> device_;
};

inline std::vector<float> random_values(std::size_t count, float deviation, std::uint32_t seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> draw(0.0F, deviation);
    std::vector<float> values(count);
    for (float& value : values) {
        value = draw(engine);
    }
    return values;
}

/// As they are after a way to the device and back.
inline std::vector<float> rounded(Precision precision, std::span<const float> values) {
    return decode(precision, encode(precision, values));
}

/// encode() with a NaN in place of the value at `at`; by itself it refuses one in fp16.
inline std::vector<std::byte> encode_with_nan(Precision precision, std::span<const float> values, std::size_t row,
                                              std::size_t at) {
    std::vector<std::byte> bytes = encode(precision, values, row);
    const std::size_t size = number_bytes(precision);
    const std::size_t number = at / row * row * parts_of(precision) + at % row;
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(number * size);
    std::fill_n(first, size - 1, std::byte{0xFF});
    first[static_cast<std::ptrdiff_t>(size - 1)] =
        std::byte{0x7F};  // little endian: the exponent and all of the mantissa
    return bytes;
}

/// The values in device memory.
inline std::vector<float> floats_in(Precision precision, const DeviceMemory& memory) {
    return decode(precision, memory.content());
}

/// ‖got - expected‖ / ‖expected‖; NaN if any value is.
inline double relative_error(std::span<const float> got, std::span<const double> expected) {
    double off = 0;
    double norm = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        off += std::pow(static_cast<double>(got[i]) - expected[i], 2);
        norm += std::pow(expected[i], 2);
    }
    return std::sqrt(off / norm);
}

/// What rounding a result to this precision, and its products' operands where they are rounded again, may cost.
inline double tolerance(Precision precision) {
    switch (precision) {
        case Precision::bf16:
            return 4e-3;  // 8 bits: 2^-9 at most for each value
        case Precision::tf32x3:
            return 2e-5;  // sums of three times 2,000 products, which the tensor cores cut off at 24 bits
        case Precision::tf32:
            return 1e-3;
        case Precision::fp16:
            return 6e-4;  // 11 bits: 2^-12 at most for each value
        case Precision::fp32:
            return 4e-6;  // sums of 2,000 products in 24 bits
        case Precision::fp8:
            return 6e-2;  // 4 bits: 2^-5 at most for each value
        case Precision::fp16x2:
            return 2e-5;  // a thirtieth of fp16's
        case Precision::certified:
            break;  // no precision of one kernel
    }
    return 0;
}

}  // namespace sluice
