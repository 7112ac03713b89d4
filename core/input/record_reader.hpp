#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/input/input_file.hpp"
#include "core/input/record.hpp"

namespace sluice {

/// The longest record with its CRLF: the most that a reader ever holds.
inline constexpr std::size_t longest_window = longest_record + 2;

/// Large enough to amortise a pread, small enough for the second-level cache.
inline constexpr std::size_t reading_window = std::size_t{256} << 10;

/// Throws Error about record `record` of `file`, which begins at `line` and yields `items_each` items.
[[noreturn]] inline void reject_record(const InputFile& file, std::uint64_t record, std::uint64_t items_each,
                                       std::uint64_t line, const RecordProblem& problem) {
    file.check_unchanged();  // the better explanation, if it holds
    throw Error(ExitCode::bad_data,
                {problem.id, fmt::format("{}:{}", file.where(), line),
                 record == header_item ? "header: " + problem.what
                                       : fmt::format("item {}: {}", record * items_each, problem.what),
                 problem.hint});
}

/// Reads the records of a range in order, a window at a time. `Framing` finds where they end:
///     std::optional<Frame> find(std::string_view window, bool last)
/// `window` begins with the record; nullopt asks for a longer window with the same start, and is never returned if
/// `last`. Throws RecordProblem.
template <class Framing>
class RecordReader {
public:
    /// `file` outlives the reader. `window`: bytes that are read at first.
    RecordReader(const InputFile& file, const RecordRange& range, Framing framing, std::size_t window = reading_window)
        : file_(file),
          framing_(std::move(framing)),
          loaded_(range.begin),
          end_(range.end),
          line_(range.line),
          item_(range.item),
          items_each_(range.items_each),
          capacity_(static_cast<std::size_t>(std::min<std::uint64_t>(window, range.end - range.begin))),
          buffer_(std::make_unique_for_overwrite<char[]>(capacity_)) {}

    /// The next record; nullopt at the end of the range. Throws Error.
    std::optional<Record> next() {
        current_line_ = line_;
        while (true) {
            if (begin_ == filled_ && loaded_ == end_) {
                return std::nullopt;
            }
            const std::string_view window(buffer_.get() + begin_, filled_ - begin_);
            if (const std::optional<Frame> frame = find(window, loaded_ == end_)) {
                if (frame->length > longest_record) {
                    refuse_length();
                }
                begin_ += frame->consumed;
                line_ += frame->lines;
                ++item_;
                return Record{window.substr(0, frame->length), current_line_};
            }
            load();
        }
    }

    /// Offset of the next record in the file.
    [[nodiscard]] std::uint64_t offset() const noexcept { return loaded_ - (filled_ - begin_); }
    [[nodiscard]] std::uint64_t line() const noexcept { return line_; }

    /// Throws Error about the record last returned by next().
    [[noreturn]] void reject_last(const RecordProblem& problem) const { reject(item_ - 1, problem); }

private:
    std::optional<Frame> find(std::string_view window, bool last) {
        try {
            return framing_.find(window, last);
        } catch (const RecordProblem& problem) {
            reject(item_, problem);
        }
    }

    [[noreturn]] void reject(std::uint64_t item, const RecordProblem& problem) const {
        reject_record(file_, item, items_each_, current_line_, problem);
    }

    [[noreturn]] void refuse_length() const {
        reject(item_, {"E-INP-035", fmt::format("longer than {} bytes", longest_record), framing_.hint_when_long()});
    }

    /// Makes the window longer by what fits into the buffer, up to a NUL: it is refused when all before it was good.
    void load() {
        if (filled_ - begin_ == longest_window) {
            refuse_length();
        }
        make_room();
        std::size_t bytes = static_cast<std::size_t>(std::min<std::uint64_t>(capacity_ - filled_, end_ - loaded_));
        char* const to = buffer_.get() + filled_;
        file_.read(loaded_, std::as_writable_bytes(std::span(to, bytes)));
        if (const void* zero = std::memchr(to, 0, bytes); zero != nullptr) {
            bytes = static_cast<std::size_t>(static_cast<const char*>(zero) - to);
            if (bytes == 0) {
                refuse_nul();
            }
        }
        filled_ += bytes;
        loaded_ += bytes;
    }

    [[noreturn]] void refuse_nul() const {
        file_.check_unchanged();
        file_.reject("E-INP-035", fmt::format("byte {} is NUL: this is not a text file", loaded_),
                     "check [input].format, and that the text is UTF-8");
    }

    void make_room() {
        const std::size_t kept = filled_ - begin_;
        if (begin_ > 0) {
            std::memmove(buffer_.get(), buffer_.get() + begin_, kept);
        } else if (filled_ == capacity_) {
            capacity_ = std::min(capacity_ * 2, longest_window);
            auto larger = std::make_unique_for_overwrite<char[]>(capacity_);
            std::memcpy(larger.get(), buffer_.get(), kept);
            buffer_ = std::move(larger);
        }
        begin_ = 0;
        filled_ = kept;
    }

    const InputFile& file_;
    Framing framing_;
    std::uint64_t loaded_;  // file offset behind the window
    std::uint64_t end_;
    std::uint64_t line_;
    std::uint64_t item_;  // counts records
    std::uint64_t items_each_;
    std::uint64_t current_line_ = 1;
    std::size_t capacity_;
    std::unique_ptr<char[]> buffer_;
    std::size_t begin_ = 0;  // of the window in the buffer
    std::size_t filled_ = 0;
};

}  // namespace sluice
