#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/codec.hpp"
#include "core/config/config.hpp"

namespace sluice {

/// Characters one after the other, in memory that is kept for the next ones.
class CharBuffer {
public:
    /// Where the next ones go, with room for `count`.
    [[nodiscard]] char* room(std::size_t count) {
        if (count > capacity_ - used_) {
            grow(count);
        }
        return chars_.get() + used_;
    }
    /// They end here, in what room() gave.
    void end_at(const char* end) noexcept { used_ = static_cast<std::size_t>(end - chars_.get()); }
    void append(std::span<const std::byte> bytes);
    void clear() noexcept { used_ = 0; }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return std::as_bytes(std::span(chars_.get(), used_));
    }

private:
    void grow(std::size_t count);

    std::unique_ptr<char[]> chars_;
    std::size_t capacity_ = 0;
    std::size_t used_ = 0;
};

/// Writes the rows of one format. One thread.
class RowWriter : public Row {
public:
    virtual ~RowWriter() = default;

    /// Appends the rows of the items from number `first` on, whose results are `results`.
    virtual void write(const ItemCodec& codec, std::uint64_t first, std::span<const std::byte> results) = 0;

    [[nodiscard]] CharBuffer& rows() noexcept { return rows_; }

protected:
    CharBuffer rows_;
};

/// `fields` are such that the format can have them (check_format).
///
/// .csv: 7,2,0.5,-1.25 under item,label,score_0,score_1; floats are the shortest decimals that read back to the same
/// value, also nan, inf and -inf; nothing stands for a value that is missing.
/// .jsonl: {"item":7,"label":2,"scores":[0.5,-1.25]}, where a field with several values gives the plural (-y: -ies) and
/// an array; null stands for what is missing, NaN or infinite; -0.0 is the zero that has a sign.
/// .txt: the text alone; an empty line for one that is missing.
/// .npy: the values as they are, a text's bytes with zeros behind them; missing_int32, NaN and zeros for those that are
/// missing.
[[nodiscard]] std::unique_ptr<RowWriter> make_row_writer(OutputFormat format, std::span<const OutputField> fields);

}  // namespace sluice
