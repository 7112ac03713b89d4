#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Kernels of a matrix product, each faster than the one before by one idea, timed beside the vendor's library.
namespace sluice::ladder {

inline constexpr double tera = 1e12;

struct LadderOptions {
    std::vector<std::uint32_t> rungs{};  ///< By number; empty: all.
    std::optional<std::uint32_t> m{};    ///< Rows of the result; nullopt: chosen for the rung.
    std::optional<std::uint32_t> n{};    ///< Columns of the result.
    std::optional<std::uint32_t> k{};    ///< Products per sum.
    double seconds = 0.5;                ///< Least length of each timed window.
};

/// One candidate's figures.
struct Rate {
    double tflops = 0;                         ///< 10^12 operations per second, calls back to back.
    std::optional<double> single_tflops{};     ///< Of a single call on an idle device.
    std::optional<double> clock_mhz{};         ///< Mean of the multiprocessors.
    std::optional<double> joules_per_tflop{};  ///< Of the whole board.
};

struct RungResult {
    std::uint32_t number = 0;
    std::string name{};
    std::string precision{};
    std::uint32_t m = 0;
    std::uint32_t n = 0;
    std::uint32_t k = 0;
    std::string skipped{};  ///< Why it was not run; the members below are meaningless then.
    double error = 0;       ///< relative_error() beside plain sums in fp64; NaN if an element was not written.
    Rate rate{};
    Rate peer{};         ///< The library's rate in the same windows; 0 if it has no such product.
    std::string path{};  ///< How the rung computes this size, if it has several ways.
    /// For a rung that rounds its operands: error against the unrounded ones; `error` is against the rounded ones.
    std::optional<double> error_with_rounding{};

    [[nodiscard]] bool right() const noexcept;
};

/// ‖out − plain‖ / ‖plain‖ over `elements`, from the sums of squares. Operands are drawn so that an element's standard
/// deviation is 1; ‖plain‖ counts as no less than that gives, since few sums may by chance all be near zero.
[[nodiscard]] double relative_error(double off_squares, double plain_squares, double elements);

struct LadderResult {
    std::string device{};
    std::string peer{};  ///< "cuBLASLt, the best of 8 heuristics".
    std::vector<RungResult> rungs{};
};

/// Called with each result as soon as it is available.
using Report = std::function<void(const RungResult&)>;

/// Whether this process has a GPU for climb_cuda(); if not, sets `why`.
[[nodiscard]] bool has_cuda_ladder(std::string& why);

/// Runs rungs on the first GPU. Throws Error when CUDA fails, ContractViolation without has_cuda_ladder().
[[nodiscard]] LadderResult climb_cuda(const LadderOptions& options, const Report& report);

/// Runs the host's rungs on one core.
[[nodiscard]] LadderResult climb_host(const LadderOptions& options, const Report& report);

/// Numbers of all rungs of the GPU's ladder, or the host's.
[[nodiscard]] std::vector<std::uint32_t> cuda_rung_numbers();
[[nodiscard]] std::vector<std::uint32_t> host_rung_numbers();

}  // namespace sluice::ladder
