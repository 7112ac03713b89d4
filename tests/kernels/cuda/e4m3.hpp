#pragma once

#include <cuda_fp8.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace sluice::test {

inline float value_of_e4m3(std::byte code) {
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(code), __NV_E4M3)));
}

inline std::vector<float> values_of_e4m3(std::span<const std::byte> codes) {
    std::vector<float> values(codes.size());
    std::ranges::transform(codes, values.begin(), [](std::byte code) { return value_of_e4m3(code); });
    return values;
}

inline std::byte e4m3_of(float value) {
    return static_cast<std::byte>(__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3));
}

}  // namespace sluice::test
