#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

/// A GPU's compute capability: 9.0.
struct ComputeCapability {
    int major;
    int minor;
};

/// Instructions by which kernels use the tensor cores.
enum class MatrixInstructions : std::uint8_t {
    mma,    ///< mma.sync, by a warp from its registers: compute capability 8.0 and later.
    wgmma,  ///< wgmma, by four warps from shared memory: 9.0 only, and only in code for sm_90a.
};

/// The fastest instructions in the code that a build for `architectures` has for a GPU. `architectures` are those of
/// CMAKE_CUDA_ARCHITECTURES with commas, "80,89,90a": code for X.Y runs on X.Z with Z >= Y, and its PTX on every later
/// GPU; with an a on X.Y only, with an f on its family. Throws Error (unavailable), which names the GPU as `gpu`, when
/// the GPU is too old or the build has no code for it.
[[nodiscard]] MatrixInstructions choose_matrix_instructions(ComputeCapability capability,
                                                            std::string_view architectures, const std::string& gpu);

}  // namespace sluice
