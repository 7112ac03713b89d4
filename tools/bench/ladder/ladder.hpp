#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Kernels of a matrix product, each one idea faster than the one before, timed beside the vendor's library.
namespace sluice::ladder {

inline constexpr double tera = 1e12;

struct LadderOptions {
    std::vector<std::uint32_t> rungs{};  ///< By number; empty: all.
    std::optional<std::uint32_t> m{};    ///< Rows of the result; without a value, what suits the rung.
    std::optional<std::uint32_t> n{};    ///< Its columns.
    std::optional<std::uint32_t> k{};    ///< Products of each sum.
    double seconds = 0.5;                ///< That each timed window lasts at least.
};

/// One candidate's figures.
struct Rate {
    double tflops = 0;                       ///< 10^12 operations a second, without a pause between calls.
    std::optional<double> single_tflops{};   ///< Of a call that the device was idle before.
    std::optional<double> clock_mhz{};       ///< Of the multiprocessors, mean.
    std::optional<double> joules_a_tflop{};  ///< Of the whole board.
};

struct RungResult {
    std::uint32_t number = 0;
    std::string name{};
    std::string precision{};
    std::uint32_t m = 0;
    std::uint32_t n = 0;
    std::uint32_t k = 0;
    std::string skipped{};  ///< Why it was not run; then nothing below has a meaning.
    double error = 0;  ///< ‖out − plain‖ / ‖plain‖, the plain sums in fp64; NaN if an element was not written.
    Rate rate{};
    Rate peer{};         ///< The library's, in the same windows; 0 if it has no such product.
    std::string path{};  ///< How the rung computes this size, if it has several ways.
    /// Of a rung that rounds its operands, whose `error` is beside what it keeps of them: beside all of them.
    std::optional<double> error_with_rounding{};

    [[nodiscard]] bool right() const noexcept;
};

struct LadderResult {
    std::string device{};
    std::string peer{};  ///< "cuBLASLt, the best of 8 heuristics".
    std::vector<RungResult> rungs{};
};

/// Called with each result as soon as it is there.
using Report = std::function<void(const RungResult&)>;

/// Whether this process has a GPU for climb_cuda(); else `why` says why not.
[[nodiscard]] bool has_cuda_ladder(std::string& why);

/// Runs rungs on the first GPU. Throws Error when CUDA fails, ContractViolation without has_cuda_ladder().
[[nodiscard]] LadderResult climb_cuda(const LadderOptions& options, const Report& report);

/// Runs the host's rungs on one core.
[[nodiscard]] LadderResult climb_host(const LadderOptions& options, const Report& report);

/// Numbers of all rungs of the GPU's ladder, or the host's.
[[nodiscard]] std::vector<std::uint32_t> cuda_rung_numbers();
[[nodiscard]] std::vector<std::uint32_t> host_rung_numbers();

}  // namespace sluice::ladder
