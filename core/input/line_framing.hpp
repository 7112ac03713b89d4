#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/input/record.hpp"

namespace sluice {

/// Records that end with LF or CRLF; the last one may do without.
class LineFraming {
public:
    std::optional<Frame> find(std::string_view window, bool last);

    [[nodiscard]] std::string hint_when_long() const { return "one line is one item: check [input].format"; }

private:
    std::size_t scanned_ = 0;  // bytes of the window without a line end
};

}  // namespace sluice
