#pragma once

#include <cstddef>
#include <cstdint>

/// Instructions without a CUDA C++ intrinsic, from sm_80 on. Shared memory is addressed by 32 bits.
namespace sluice::ptx {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// --- Asynchronous copies to shared memory, in groups ---

/// Copies 16 bytes past the L1 cache; zeros unless `present`.
__device__ __forceinline__ void copy_16(std::uint32_t to, const void* from, bool present) {
    const int bytes = present ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

/// Ends a group, which may be empty.
__device__ __forceinline__ void commit_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most `pending` of this thread's groups are unfinished.
template <int pending>
__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// --- Chains of kernels (programmatic dependent launch); launch() makes none of code for less than sm_90 ---

/// Waits until the previous kernels in the stream have written their results.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the next kernel in the stream start on the resources that this one's blocks free.
__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// --- Shared and global memory ---

__device__ __forceinline__ uint4 load_shared_16(std::uint32_t address) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address)
                 : "memory");
    return v;
}

__device__ __forceinline__ void store_shared_16(std::uint32_t address, const uint4& v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

/// One store, which the compiler would split in four.
__device__ __forceinline__ void store_global_16(void* to, const uint4& v) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

__device__ __forceinline__ float2 load_shared_8(std::uint32_t address) {
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address));
    return v;
}

__device__ __forceinline__ float load_shared_4(std::uint32_t address) {
    float value;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
    return value;
}

__device__ __forceinline__ void store_shared(std::uint32_t address, float value) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}
__device__ __forceinline__ void store_shared(std::uint32_t address, std::uint32_t value) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

// --- Arithmetic ---

/// The larger one; NaN if one is, unlike fmaxf().
__device__ __forceinline__ float larger_or_nan(float a, float b) {
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
}

/// 1/x, with a relative error of about 2^-23; subnormal results become zero.
__device__ __forceinline__ float reciprocal_about(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/// tanh(x), with a relative error of at most 2^-11.
__device__ __forceinline__ float tanh_about(float x) {
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

constexpr float log2_e = 1.44269504F;  // e^x = 2^(x log2_e)

/// 2^x, with a relative error of about 2^-22; subnormal results become zero.
__device__ __forceinline__ float exp2_about(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

}  // namespace sluice::ptx
