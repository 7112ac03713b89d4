#include "kernels/host/elementwise.hpp"

#include <algorithm>
#include <array>

#include "core/machine/simd.hpp"

namespace sluice {
namespace {

// Only functions compiled for these vectors take them as arguments; GCC warns at the template that makes them.
#pragma GCC diagnostic ignored "-Wpsabi"

/// e^r - 1 = rest, x = n ln 2 + r with |r| <= ln 2 / 2, and power = 2^n; -87 <= x <= 88.
template <int lanes>
struct SplitExp {
    using V = typename Pack<lanes>::Type;
    using Bits = typename Pack<lanes>::Mask;
    V rest;
    V power;

    [[gnu::always_inline]] explicit inline SplitExp(const V& x) {
        constexpr float per_ln2 = 1.44269504F;
        constexpr float ln2_high = 0.693359375F;  // few digits: its products with n are exact
        constexpr float ln2_low = -2.12194440e-4F;
        constexpr float rounder = 12582912.0F;  // 1.5 * 2^23: the sum's last place is 1
        constexpr int rounder_bits = 0x4B400000;
        constexpr int bias = 127;
        constexpr int fraction_bits = 23;
        const V rounded = x * per_ln2 + rounder;
        const V n = rounded - rounder;
        const V r = (x - n * ln2_high) - n * ln2_low;
        // The Taylor series: r^8 / 8! is less than a tenth of the last place.
        V p = r * (1.0F / 5040) + 1.0F / 720;
        p = p * r + 1.0F / 120;
        p = p * r + 1.0F / 24;
        p = p * r + 1.0F / 6;
        p = p * r + 0.5F;
        rest = p * (r * r) + r;
        const Bits exponent = reinterpret_cast<Bits>(rounded) - rounder_bits + bias;
        const Bits power_bits = exponent << fraction_bits;
        power = reinterpret_cast<V>(power_bits);
    }
};

template <int lanes>
[[gnu::always_inline]] inline void clamp(typename Pack<lanes>::Type& x, float least, float most) {
    const typename Pack<lanes>::Type zero = {};
    x = x < zero + least ? zero + least : x;
    x = x > zero + most ? zero + most : x;
}

template <int lanes>
[[gnu::always_inline]] inline void exp_in_place(typename Pack<lanes>::Type& x) {
    clamp<lanes>(x, -87.0F, 88.0F);
    const SplitExp<lanes> e(x);
    x = e.rest * e.power + e.power;
}

/// 1 / (1 + e^-x)
template <int lanes>
[[gnu::always_inline]] inline void sigmoid_in_place(typename Pack<lanes>::Type& x) {
    x = -x;
    exp_in_place<lanes>(x);
    x = 1.0F / (x + 1.0F);
}

/// (e^2x - 1) / (e^2x + 1) of |x|, with the sign of x: near 0 the numerator has all its digits.
template <int lanes>
[[gnu::always_inline]] inline void tanh_in_place(typename Pack<lanes>::Type& x) {
    using V = typename Pack<lanes>::Type;
    using Bits = typename Pack<lanes>::Mask;
    constexpr int sign_bit = static_cast<int>(0x80000000U);
    const Bits sign = reinterpret_cast<Bits>(x) & sign_bit;
    const Bits magnitude = reinterpret_cast<Bits>(x) & ~sign_bit;
    V twice = reinterpret_cast<V>(magnitude) * 2.0F;
    clamp<lanes>(twice, 0.0F, 30.0F);
    const SplitExp<lanes> e(twice);
    const V less_one = e.rest * e.power + (e.power - 1.0F);
    const V result = less_one / (less_one + 2.0F);
    const Bits with_sign = reinterpret_cast<Bits>(result) | sign;
    x = reinterpret_cast<V>(with_sign);
}

template <int lanes>
[[gnu::always_inline]] inline void exp_of(const float* in, float* out) {
    typename Pack<lanes>::Type x;
    Pack<lanes>::load(x, in);
    exp_in_place<lanes>(x);
    Pack<lanes>::store(out, x);
}

template <int lanes>
[[gnu::always_inline]] inline void exp_of_all(std::size_t count, const float* in, float* out) {
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        exp_of<lanes>(in + i, out + i);
    }
    if (i < count) {
        float rest[lanes] = {};
        std::copy_n(in + i, count - i, rest);
        exp_of<lanes>(rest, rest);
        std::copy_n(rest, count - i, out + i);
    }
}

/// Gates r, z and n of some units, from input products `in` and state products `own`; h: the state.
template <int lanes>
[[gnu::always_inline]] inline void gates_of(const float* const (&in)[3], const float* const (&own)[3], float* h) {
    using V = Pack<lanes>;
    typename V::Type x[3];
    typename V::Type y[3];
    typename V::Type state;
    for (int gate = 0; gate < 3; ++gate) {
        V::load(x[gate], in[gate]);
        V::load(y[gate], own[gate]);
    }
    V::load(state, h);
    typename V::Type r = x[0] + y[0];
    typename V::Type z = x[1] + y[1];
    sigmoid_in_place<lanes>(r);
    sigmoid_in_place<lanes>(z);
    typename V::Type n = x[2] + r * y[2];
    tanh_in_place<lanes>(n);
    V::store(h, (1.0F - z) * n + z * state);
}

template <int lanes>
[[gnu::always_inline]] inline void gates(std::size_t hidden, const float* in, const float* own, float* h) {
    std::size_t j = 0;
    for (; j + lanes <= hidden; j += lanes) {
        gates_of<lanes>({in + j, in + hidden + j, in + 2 * hidden + j},
                        {own + j, own + hidden + j, own + 2 * hidden + j}, h + j);
    }
    if (const std::size_t left = hidden - j; left != 0) {
        float rest[7][lanes] = {};
        for (std::size_t gate = 0; gate < 3; ++gate) {
            std::copy_n(in + gate * hidden + j, left, rest[gate]);
            std::copy_n(own + gate * hidden + j, left, rest[3 + gate]);
        }
        std::copy_n(h + j, left, rest[6]);
        gates_of<lanes>({rest[0], rest[1], rest[2]}, {rest[3], rest[4], rest[5]}, rest[6]);
        std::copy_n(rest[6], left, h + j);
    }
}

template <int lanes>
struct GeluTanh {
    [[gnu::always_inline]] static inline void in_place(typename Pack<lanes>::Type& x) {
        constexpr float root_2_per_pi = 0.79788456F;
        typename Pack<lanes>::Type t = (x + x * x * x * 0.044715F) * root_2_per_pi;
        tanh_in_place<lanes>(t);
        x = x * 0.5F * (t + 1.0F);
    }
};

/// x / 2 * erfc(-x / sqrt(2)): no cancellation below zero.
template <int lanes>
struct GeluErf {
    [[gnu::always_inline]] static inline void in_place(typename Pack<lanes>::Type& x) {
        using V = typename Pack<lanes>::Type;
        using Bits = typename Pack<lanes>::Mask;
        constexpr int sign_bit = static_cast<int>(0x80000000U);
        constexpr float root_half = 0.70710678F;
        const Bits magnitude = reinterpret_cast<Bits>(x) & ~sign_bit;
        const V z = reinterpret_cast<V>(magnitude) * root_half;
        const V t = 1.0F / (z * 0.3275911F + 1.0F);
        V p = t * 1.061405429F - 1.453152027F;
        p = p * t + 1.421413741F;
        p = p * t - 0.284496736F;
        p = p * t + 0.254829592F;
        V power = -(z * z);
        exp_in_place<lanes>(power);
        const V rest = p * t * power;  // erfc(z)
        x = x * 0.5F * (x < V{} ? rest : 2.0F - rest);
    }
};

template <int lanes>
struct Silu {
    [[gnu::always_inline]] static inline void in_place(typename Pack<lanes>::Type& x) {
        typename Pack<lanes>::Type power = -x;
        exp_in_place<lanes>(power);
        x = x / (power + 1.0F);
    }
};

template <int lanes, template <int> class Activation>
[[gnu::always_inline]] inline void activate(float* at) {
    typename Pack<lanes>::Type x;
    Pack<lanes>::load(x, at);
    Activation<lanes>::in_place(x);
    Pack<lanes>::store(at, x);
}

template <int lanes, template <int> class Activation>
[[gnu::always_inline]] inline void activate_all(std::size_t count, float* x) {
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        activate<lanes, Activation>(x + i);
    }
    if (i < count) {
        float rest[lanes] = {};
        std::copy_n(x + i, count - i, rest);
        activate<lanes, Activation>(rest);
        std::copy_n(rest, count - i, x + i);
    }
}

template <template <int> class Activation>
[[gnu::target("arch=x86-64-v4")]] void activate_v4(std::size_t count, float* x) {
    activate_all<16, Activation>(count, x);
}
template <template <int> class Activation>
[[gnu::target("arch=x86-64-v3")]] void activate_v3(std::size_t count, float* x) {
    activate_all<8, Activation>(count, x);
}
template <template <int> class Activation>
void activate_plain(std::size_t count, float* x) {
    activate_all<4, Activation>(count, x);
}

[[gnu::target("arch=x86-64-v4")]] void exp_v4(std::size_t count, const float* in, float* out) {
    exp_of_all<16>(count, in, out);
}
[[gnu::target("arch=x86-64-v3")]] void exp_v3(std::size_t count, const float* in, float* out) {
    exp_of_all<8>(count, in, out);
}
void exp_plain(std::size_t count, const float* in, float* out) {
    exp_of_all<4>(count, in, out);
}

[[gnu::target("arch=x86-64-v4")]] void gates_v4(std::size_t hidden, const float* in, const float* own, float* h) {
    gates<16>(hidden, in, own, h);
}
[[gnu::target("arch=x86-64-v3")]] void gates_v3(std::size_t hidden, const float* in, const float* own, float* h) {
    gates<8>(hidden, in, own, h);
}
void gates_plain(std::size_t hidden, const float* in, const float* own, float* h) {
    gates<4>(hidden, in, own, h);
}

constexpr std::array<ElementwiseBuild, 3> builds{
    {{exp_v4, gates_v4, activate_v4<GeluTanh>, activate_v4<GeluErf>, activate_v4<Silu>},
     {exp_v3, gates_v3, activate_v3<GeluTanh>, activate_v3<GeluErf>, activate_v3<Silu>},
     {exp_plain, gates_plain, activate_plain<GeluTanh>, activate_plain<GeluErf>, activate_plain<Silu>}}};

const ElementwiseBuild& widest_build() {
    static const ElementwiseBuild* const build = for_this_cpu(&builds[0], &builds[1], &builds[2]);
    return *build;
}

}  // namespace

void exp_all(std::size_t count, const float* in, float* out) {
    widest_build().exp_all(count, in, out);
}

void gru_gates(std::size_t hidden, const float* in, const float* own, float* h) {
    widest_build().gru_gates(hidden, in, own, h);
}

std::span<const ElementwiseBuild> elementwise_builds() {
    return std::span(builds).subspan(static_cast<std::size_t>(&widest_build() - builds.data()));
}

void gelu_all(std::size_t count, float* x) {
    widest_build().gelu_all(count, x);
}

void gelu_erf_all(std::size_t count, float* x) {
    widest_build().gelu_erf_all(count, x);
}

void silu_all(std::size_t count, float* x) {
    widest_build().silu_all(count, x);
}

}  // namespace sluice
