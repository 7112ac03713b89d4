#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/cuda/primitives/precision.hpp"

namespace sluice::ladder {

struct Size {
    std::uint32_t m;
    std::uint32_t n;
    std::uint32_t k;
};

/// Device memory of one product; not owned. Aligned to 256 bytes.
struct Operands {
    const void* a;  ///< (m, k)
    const void* b;  ///< (k, n) in fp32; (n, k) in bf16, the layout of a linear layer's weights.
    void* out;      ///< (m, n), in the operands' precision.
};

/// A product, ready to run.
struct MadeProduct {
    std::function<void(cudaStream_t)> enqueue;
    std::string path{};                 ///< How it is computed, if the rung has several ways.
    std::optional<Operands> rounded{};  ///< The operands as rounded by the rung, if it does.
};

/// May allocate, and throws Error when CUDA fails.
using MakeProduct = MadeProduct (*)(const Size&, const Operands&);

/// One kernel of the ladder. Its source says what it adds to the one before and why that is faster.
struct Rung {
    std::uint32_t number;
    std::string_view name;
    Precision precision;  ///< fp32 or bf16.
    Size granularity;     ///< m, n and k are multiples of these.
    bool hopper;          ///< Needs code for sm_90a.
    MakeProduct make;
};

/// By ascending number, from 1: 0 is cuBLAS.
[[nodiscard]] std::span<const Rung> cuda_rungs();

extern const Rung rung_01_naive;
extern const Rung rung_02_coalesced;
extern const Rung rung_03_shared;
extern const Rung rung_04_strip;
extern const Rung rung_05_row;
extern const Rung rung_06_row_vector;
extern const Rung rung_07_column;
extern const Rung rung_08_square;
extern const Rung rung_09_unrolled;
extern const Rung rung_10_warp_tiles;
extern const Rung rung_11_mma;
extern const Rung rung_12_wgmma;
extern const Rung rung_13_roles;
extern const Rung rung_14_persistent;
extern const Rung rung_15_parity;
extern const Rung rung_16_multicast;
extern const Rung rung_17_stores;
extern const Rung rung_18_models;
extern const Rung rung_19_two_parts;
extern const Rung rung_20_fp8;

}  // namespace sluice::ladder
