#include "scheduler/roofline.hpp"

#include <fmt/format.h>

#include "core/json_types.hpp"
#include "scheduler/verdict.hpp"

namespace sluice {

std::optional<double> achieved_flop(const Roofline& roofline, const Verdict& verdict, std::size_t devices) {
    const bool is_known = roofline.flop_per_item > 0 && devices != 0 && verdict.bound != Bound::unknown;
    return is_known ? std::optional(roofline.flop_per_item * verdict.steady / static_cast<double>(devices))
                    : std::nullopt;
}

nlohmann::json roofline_json(const Roofline& roofline, const Verdict& verdict, std::size_t devices) {
    const std::optional<double> achieved = achieved_flop(roofline, verdict, devices);
    const bool has_share = achieved && roofline.peak && *roofline.peak > 0;
    return {{"flop_per_item", roofline.flop_per_item},
            {"precision", name_of(roofline.precision)},
            {"products", roofline.products},
            {"achieved", achieved},
            {"peak", roofline.peak},
            {"share", has_share ? std::optional(*achieved / *roofline.peak) : std::nullopt},
            {"note", or_null(roofline.note)}};
}

std::string roofline_text(const Roofline& roofline, const Verdict& verdict, std::size_t devices) {
    constexpr double giga = 1e9;
    const std::optional<double> achieved = achieved_flop(roofline, verdict, devices);
    if (!achieved) {
        return {};
    }
    if (!roofline.peak || *roofline.peak <= 0) {
        return fmt::format("compute: {:.3g} GFLOP/s a device; {}\n", *achieved / giga, roofline.note);
    }
    const std::string_view precision = name_of(roofline.precision);
    return fmt::format("compute: {:.3g} of {:.3g} GFLOP/s a device ({:.1f} %) {}\n", *achieved / giga,
                       *roofline.peak / giga, 100 * *achieved / *roofline.peak,
                       roofline.products == 1
                           ? fmt::format("in {}", precision)
                           : fmt::format("by {} products in {} for one", roofline.products, precision));
}

}  // namespace sluice
