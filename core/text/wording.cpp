#include "core/text/wording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text/escape.hpp"

namespace sluice {
namespace {

constexpr std::size_t longest_wrong_name = 64;  // the cost is quadratic, and no name of ours comes near this

std::string small_letters(std::string_view text) {
    std::string small(text);
    std::ranges::transform(small, small.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return small;
}

/// Decimals for three significant digits of a `value` of at least 1.
int decimals_of(double value) {
    return value < 10 ? 2 : value < 100 ? 1 : 0;
}

}  // namespace

std::size_t text_width(std::string_view text) noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

std::string text_columns(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], text_width(row[i]));
        }
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += "  " + row[i] + std::string(widths[i] - text_width(row[i]), ' ');
        }
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

std::string replace_all(std::string_view text, std::string_view place, std::string_view by) {
    std::string replaced;
    for (std::size_t found = text.find(place); found != std::string_view::npos; found = text.find(place)) {
        replaced.append(text.substr(0, found)).append(by);
        text.remove_prefix(found + place.size());
    }
    return replaced.append(text);
}

std::string count_of(std::size_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string first_of(std::span<const std::uint64_t> numbers, std::size_t most) {
    return fmt::format("{}{}", fmt::join(numbers.first(std::min(numbers.size(), most)), ", "),
                       numbers.size() > most ? ", …" : "");
}

double ItemCount::percent() const noexcept {
    return total == 0 ? 100.0 : 100.0 * static_cast<double>(done) / static_cast<double>(total);
}

std::string count_text(const ItemCount& items, Percentage percentage) {
    std::string text = fmt::format("{} of {}{} items", items.done, items.is_estimated ? "about " : "", items.total);
    if (percentage == Percentage::shown) {
        constexpr double most_of_some = 99.9;  // 100 % is all of them
        const bool are_all = items.done >= items.total && !items.is_estimated;
        text += fmt::format(" ({:.1f} %)", are_all ? items.percent() : std::min(items.percent(), most_of_some));
    }
    if (items.before > 0) {
        text +=
            fmt::format(": {} in this run, {} before", items.done - std::min(items.before, items.done), items.before);
    }
    return text;
}

std::string rate_text(double per_second) {
    return per_second < 1 ? fmt::format("{:.3g}", per_second)
                          : fmt::format("{:.{}f}", per_second, decimals_of(per_second));
}

std::string time_text(double time) {
    for (const auto& [factor, unit] : {std::pair{1.0, "s"}, std::pair{1e3, "ms"}}) {
        if (std::abs(time) * factor >= 1) {
            return fmt::format("{:.{}f} {}", time * factor, decimals_of(std::abs(time) * factor), unit);
        }
    }
    return fmt::format("{:.{}f} µs", time * 1e6, decimals_of(std::abs(time) * 1e6));
}

std::size_t edit_distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> before_last(to.size() + 1);
    std::vector<std::size_t> last(to.size() + 1);
    std::vector<std::size_t> row(to.size() + 1);
    for (std::size_t j = 0; j <= to.size(); ++j) {
        last[j] = j;
    }
    for (std::size_t i = 1; i <= from.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const bool same = from[i - 1] == to[j - 1];
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
                row[j] = std::min(row[j], before_last[j - 2] + 1);
            }
        }
        before_last.swap(last);
        last.swap(row);
    }
    return last[to.size()];
}

std::string_view closest_name(std::string_view wrong, std::span<const std::string_view> names) {
    if (wrong.size() > longest_wrong_name) {
        return {};
    }
    std::size_t nearest = std::max<std::size_t>(1, wrong.size() / 3) + 1;
    std::string_view found;
    for (const std::string_view name : names) {
        const std::size_t distance = edit_distance(small_letters(wrong), small_letters(name));
        if (distance < nearest && distance < name.size()) {
            nearest = distance;
            found = name;
        }
    }
    const auto begins = [start = small_letters(wrong)](std::string_view name) {
        return small_letters(name).starts_with(start);
    };
    if (found.empty() && !wrong.empty() && std::ranges::count_if(names, begins) == 1) {
        return *std::ranges::find_if(names, begins);
    }
    return found;
}

std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> names) {
    const std::string_view name = closest_name(wrong, names);
    return name.empty() ? std::string() : "; did you mean " + quoted(name) + "?";
}

}  // namespace sluice
