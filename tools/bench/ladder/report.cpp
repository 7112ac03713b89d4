#include "tools/bench/ladder/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace sluice::ladder {
namespace {

std::string in_table(const std::optional<double>& value, int digits) {
    return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

/// Share of the library's rate, in percent.
std::optional<double> share(const RungResult& rung) {
    return rung.peer.tflops > 0 ? std::optional(100 * rung.rate.tflops / rung.peer.tflops) : std::nullopt;
}

std::string remarks(const RungResult& rung) {
    return (rung.path.empty() ? "" : "  " + rung.path) +
           (rung.error_with_rounding ? fmt::format("; rounding the operands: {:.1e}", *rung.error_with_rounding) : "");
}

std::string escaped_xml(const std::string& text) {
    std::string result;
    for (const char c : text) {
        result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    }
    return result;
}

// Places in the picture, in pixels.
constexpr int first_row = 54;
constexpr int row_height = 22;
constexpr int bars_x = 290;
constexpr int whole = 420;     // of 100 %
constexpr int most_bar = 483;  // of 115 % and all above
constexpr int figures_x = bars_x + most_bar + 12;

/// What was measured, beside a bar.
std::string figures(const RungResult& rung) {
    const std::optional<double> percent = share(rung);
    const auto and_of = [](const std::optional<double>& value, int digits, std::string_view unit) {
        return value ? fmt::format(", {:.{}f} {}", *value, digits, unit) : std::string();
    };
    return fmt::format("{}{}, {:.{}f} TFLOP/s{}{}", rung.right() ? "" : "WRONG, ",
                       percent ? fmt::format("{:.1f} %", *percent) : "-", rung.rate.tflops,
                       rung.rate.tflops < 100 ? 3 : 0, and_of(rung.rate.clock_mhz, 0, "MHz"),
                       and_of(rung.rate.joules_per_tflop, 2, "J/TFLOP"));
}

/// A rung's name with its bar, or with why it was skipped. A wrong one's bar is an outline, and a bar that is cut at
/// its end has two gaps there.
std::string row_of(const RungResult& rung, int y) {
    const std::string name = fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{} {} ({})</text>\n", bars_x - 8,
                                         y + 15, rung.number, escaped_xml(rung.name), rung.precision);
    if (!rung.skipped.empty()) {
        return name + fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#777\">skipped: {}</text>\n", bars_x + 6, y + 15,
                                  escaped_xml(rung.skipped));
    }
    constexpr int height = row_height - 6;
    const std::string_view fill = !rung.right()              ? "white\" stroke=\"#c1121f\" stroke-dasharray=\"4 3"
                                  : rung.precision == "bf16" ? "#3a7d44"
                                                             : "#2f6690";
    const double bar = share(rung).value_or(0) / 100 * whole;
    std::string row = name + fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>\n",
                                         bars_x, y + 3, std::min<double>(bar, most_bar), height, fill);
    if (bar > most_bar) {
        row += fmt::format("<path d=\"M{0} {2}l6 {3}M{1} {2}l6 {3}\" stroke=\"white\" stroke-width=\"3\"/>\n",
                           bars_x + most_bar - 24, bars_x + most_bar - 15, y + 3 + height, -height);
    }
    return row + fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", figures_x, y + 15,
                             rung.right() ? "" : " fill=\"#c1121f\"", figures(rung));
}

nlohmann::json number(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json json_of(const Rate& rate) {
    return {{"tflops", number(rate.tflops)},
            {"single_tflops", number(rate.single_tflops)},
            {"clock_mhz", number(rate.clock_mhz)},
            {"joules_a_tflop", number(rate.joules_per_tflop)}};
}

}  // namespace

double relative_error(double off_squares, double plain_squares, double elements) {
    return std::sqrt(off_squares / std::max(plain_squares, elements));
}

bool RungResult::right() const noexcept {
    constexpr double of_fp32 = 1e-4;  // sums of some ten thousand products in 24 bits
    constexpr double of_bf16 = 4e-3;  // 8 bits: at most 2^-9 per value
    return skipped.empty() && error < (precision == "bf16" ? of_bf16 : of_fp32);
}

std::string table_head() {
    return fmt::format("rung {:26} {:>6} {:>17} {:>9} {:>8} {:>8} {:>6} {:>8} {:>9}\n", "", "", "m x n x k", "TFLOP/s",
                       "percent", "single", "MHz", "J/TFLOP", "error");
}

std::string table_foot(const LadderResult& result) {
    return fmt::format("on {}; percent of {}, in the same windows\n", result.device, result.peer);
}

std::string table_line(const RungResult& rung) {
    const std::string size = fmt::format("{}x{}x{}", rung.m, rung.n, rung.k);
    const std::string head = fmt::format("{:2} {:28} {:>6} {:>17}", rung.number, rung.name, rung.precision, size);
    if (!rung.skipped.empty()) {
        return fmt::format("{} skipped: {}\n", head, rung.skipped);
    }
    return fmt::format("{} {:9.3f} {:>8} {:>8} {:>6} {:>8} {:9.1e}{}{}\n", head, rung.rate.tflops,
                       in_table(share(rung), 1), in_table(rung.rate.single_tflops, 1), in_table(rung.rate.clock_mhz, 0),
                       in_table(rung.rate.joules_per_tflop, 2), rung.error, rung.right() ? "" : "  WRONG",
                       remarks(rung));
}

std::string bars(const LadderResult& result) {
    const int height = first_row + static_cast<int>(result.rungs.size()) * row_height + 30;
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"sans-serif\" font-size=\"13\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
        "<text x=\"10\" y=\"20\" font-weight=\"bold\">Matrix products on {2}</text>\n"
        "<text x=\"10\" y=\"38\" fill=\"#555\">share of {3} in the same windows</text>\n",
        figures_x + 380, height, escaped_xml(result.device), escaped_xml(result.peer));
    int y = first_row;
    for (const RungResult& rung : result.rungs) {
        svg += row_of(rung, y);
        y += row_height;
    }
    svg += fmt::format("<line x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\" stroke=\"#c1121f\"/>\n", bars_x + whole,
                       first_row - 4, y + 4);
    return svg + "</svg>\n";
}

std::string json_of(const LadderResult& result) {
    nlohmann::json rungs = nlohmann::json::array();
    for (const RungResult& rung : result.rungs) {
        nlohmann::json one{{"rung", rung.number}, {"name", rung.name}, {"precision", rung.precision},
                           {"m", rung.m},         {"n", rung.n},       {"k", rung.k}};
        if (rung.skipped.empty()) {
            one["error"] = number(rung.error);
            one["right"] = rung.right();
            one["own"] = json_of(rung.rate);
            one["library"] = json_of(rung.peer);
            one["percent"] = number(share(rung));
            if (!rung.path.empty()) {
                one["path"] = rung.path;
            }
            if (rung.error_with_rounding) {
                one["error_with_rounding"] = number(rung.error_with_rounding);
            }
        } else {
            one["skipped"] = rung.skipped;
        }
        rungs.push_back(std::move(one));
    }
    return nlohmann::json{{"device", result.device}, {"library", result.peer}, {"rungs", rungs}}.dump(2) + "\n";
}

}  // namespace sluice::ladder
