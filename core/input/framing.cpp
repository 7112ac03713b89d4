#include "core/input/framing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/error.hpp"
#include "core/text/wording.hpp"

namespace sluice {
namespace {

constexpr char const* malformed = "E-INP-035";
constexpr std::size_t most_columns = 65'536;  // no table has as many; bounds the memory that splitting a record takes

constexpr std::array<bool, 256> ends_plain_run = [] {
    std::array<bool, 256> table = {};
    for (const unsigned char byte : {',', '"', '\n', '\r'}) {
        table[byte] = true;
    }
    return table;
}();

std::size_t end_of_plain_run(std::string_view window, std::size_t at) {
    while (at < window.size() && !ends_plain_run[static_cast<unsigned char>(window[at])]) {
        ++at;
    }
    return at;
}

std::size_t next_quote(std::string_view window, std::size_t at) {
    const void* hit = std::memchr(window.data() + at, '"', window.size() - at);
    return hit == nullptr ? window.size() : static_cast<std::size_t>(static_cast<const char*>(hit) - window.data());
}

}  // namespace

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

std::optional<Frame> CsvFraming::find(std::string_view window, bool last) {
    if (const std::optional<Frame> frame = scan(window)) {
        return frame;
    }
    if (!last) {
        return std::nullopt;
    }
    if (state_ == State::quoted) {
        throw RecordProblem{malformed, "the file ends inside a quoted field",
                            "close the quote; a quote inside a field is written twice"};
    }
    if (state_ == State::after_return) {
        step_at_delimiter('\0');
    }
    return finish(window.size(), window.size());
}

std::optional<Frame> CsvFraming::scan(std::string_view window) {
    std::size_t at = scanned_;
    while (at < window.size()) {
        if (state_ == State::quoted) {
            const std::size_t quote = next_quote(window, at);
            lines_ += static_cast<std::uint64_t>(std::count(window.data() + at, window.data() + quote, '\n'));
            state_ = quote < window.size() ? State::after_quote : State::quoted;
            at = std::min(quote + 1, window.size());
            continue;
        }
        if (state_ == State::plain) {
            at = end_of_plain_run(window, at);
            if (at == window.size()) {
                break;
            }
        }
        const char byte = window[at];
        ++at;
        if (byte == '\n') {
            ++lines_;
            return finish(state_ == State::after_return ? at - 2 : at - 1, at);
        }
        step_at_delimiter(byte);
    }
    scanned_ = at;
    return std::nullopt;
}

/// Takes one byte outside quotes that is no line feed.
void CsvFraming::step_at_delimiter(char byte) {
    if (state_ == State::after_return) {
        throw RecordProblem{malformed, "a carriage return without line feed outside quotes",
                            "end lines with LF or CRLF, or put the field into quotes"};
    }
    switch (byte) {
        case ',':
            if (++found_ > most_columns) {
                throw RecordProblem{malformed, fmt::format("more than {} columns", most_columns),
                                    "check [input].format"};
            }
            state_ = State::field_start;
            break;
        case '\r':
            state_ = State::after_return;
            break;
        case '"':
            if (state_ == State::plain) {
                throw RecordProblem{malformed,
                                    fmt::format("a quote inside column {}, which does not begin with one", found_),
                                    "put the whole field into quotes and write quotes inside it twice"};
            }
            state_ = State::quoted;
            break;
        default:
            if (state_ == State::after_quote) {
                throw RecordProblem{
                    malformed,
                    fmt::format("column {} continues after its closing quote (got {}, expected a comma or "
                                "the end of the line)",
                                found_, sluice::quoted(std::string_view(&byte, 1))),
                    "write quotes inside a quoted field twice"};
            }
            state_ = State::plain;
    }
}

Frame CsvFraming::finish(std::size_t length, std::size_t consumed) {
    if (expected_ == 0) {
        expected_ = found_;
    }
    if (found_ != expected_) {
        throw RecordProblem{
            "E-INP-032",
            fmt::format("got {}, expected {} as in the first record", count_of(found_, "column"), expected_),
            "put fields that hold commas into quotes, and leave no blank lines"};
    }
    const Frame frame{length, consumed, lines_};
    state_ = State::field_start;
    scanned_ = 0;
    found_ = 1;
    lines_ = 0;
    return frame;
}

std::string CsvFraming::hint_when_long() const {
    return state_ == State::quoted ? "close the quote that opens here" : "check [input].format";
}

}  // namespace sluice
