#include "core/text/item_count.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

double ItemCount::percent() const noexcept {
    return total == 0 ? 100.0 : 100.0 * static_cast<double>(done) / static_cast<double>(total);
}

std::string count_text(const ItemCount& items, Percentage percentage) {
    std::string text = fmt::format("{} of {} items", items.done, items.total);
    if (percentage == Percentage::shown) {
        text += fmt::format(" ({:.1f} %)", items.percent());
    }
    if (items.before > 0) {
        text +=
            fmt::format(": {} in this run, {} before", items.done - std::min(items.before, items.done), items.before);
    }
    return text;
}

}  // namespace sluice
