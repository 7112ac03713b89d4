#pragma once

#include <cstring>

namespace sluice {

/// `lanes` floats handled as one value.
template <int lanes>
struct Pack {
    typedef float Type __attribute__((vector_size(lanes * sizeof(float))));
    typedef int Mask __attribute__((vector_size(lanes * sizeof(int))));
    static constexpr int count = lanes;

    [[gnu::always_inline]] static inline void load(Type& to, const float* from) {
        std::memcpy(&to, from, sizeof(Type));
    }
    [[gnu::always_inline]] static inline void store(float* to, const Type& from) {
        std::memcpy(to, &from, sizeof(Type));
    }
};

/// One of three builds of the same function, by what this CPU can do. Chosen by hand: target_clones needs an ifunc
/// resolver, which runs before the sanitizers are ready.
template <class Function>
[[nodiscard]] Function* for_this_cpu(Function* avx512, Function* avx2, Function* plain) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) {
        return avx512;
    }
    return __builtin_cpu_supports("x86-64-v3") ? avx2 : plain;
}

}  // namespace sluice
