#include "core/input/line_framing.hpp"

#include <cstring>

namespace sluice {
std::optional<Frame> LineFraming::find(std::string_view window, bool last) {
    const std::string_view rest = window.substr(scanned_);
    const void* hit = rest.empty() ? nullptr : std::memchr(rest.data(), '\n', rest.size());
    if (hit == nullptr) {
        scanned_ = last ? 0 : window.size();
        return last ? std::optional(Frame{window.size(), window.size(), 0}) : std::nullopt;
    }
    scanned_ = 0;
    const auto feed = static_cast<std::size_t>(static_cast<const char*>(hit) - window.data());
    const bool after_return = feed > 0 && window[feed - 1] == '\r';
    return Frame{after_return ? feed - 1 : feed, feed + 1, 1};
}

}  // namespace sluice
