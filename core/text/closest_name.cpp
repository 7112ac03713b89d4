#include "core/text/closest_name.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::size_t longest_wrong_name = 64;  // the cost is quadratic, and no name of ours comes near this

}  // namespace

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
        const std::size_t distance = edit_distance(wrong, name);
        if (distance < nearest && distance < name.size()) {
            nearest = distance;
            found = name;
        }
    }
    return found;
}

std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> names) {
    const std::string_view name = closest_name(wrong, names);
    return name.empty() ? std::string() : "; did you mean " + quoted(name) + "?";
}

}  // namespace sluice
