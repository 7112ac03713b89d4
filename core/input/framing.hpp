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

/// Records of comma-separated values. RFC 4180, section 2, in full: a quote opens a field or is an error, a closed
/// field ends, every record has as many columns as the first. LF ends a record as well as CRLF.
class CsvFraming {
public:
    /// `columns` that every record must have; 0: as many as the first.
    explicit CsvFraming(std::size_t columns) : expected_(columns) {}

    std::optional<Frame> find(std::string_view window, bool last);

    [[nodiscard]] std::size_t columns() const noexcept { return expected_; }
    [[nodiscard]] std::string hint_when_long() const;

private:
    enum class State { field_start, plain, quoted, after_quote, after_return };

    /// Reads on in `window`; nothing at its end.
    std::optional<Frame> scan(std::string_view window);
    void step_at_delimiter(char byte);
    Frame finish(std::size_t length, std::size_t consumed);

    std::size_t expected_;
    State state_ = State::field_start;
    std::size_t scanned_ = 0;
    std::size_t found_ = 1;  // columns of this record
    std::uint64_t lines_ = 0;
};

}  // namespace sluice
