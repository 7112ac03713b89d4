#include "core/input/record_stitcher.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "core/input/record_reader.hpp"

namespace sluice {

RecordStitcher::RecordStitcher(const InputFile& file, const RecordRange& range, std::size_t columns)
    : file_(file), range_(range), columns_(columns), begin_{0, range.begin, range.line}, line_(range.line) {}

bool RecordStitcher::add(const BlockScan& scan, std::uint64_t block_begin, std::uint64_t block_end) {
    const BlockRecords& records = scan.records[inside_ ? 1 : 0];
    if (records.is_malformed) {
        return false;
    }
    if (records.ends.empty()) {
        commas_ += records.last_commas;
    } else {
        if (!has_all_columns(records.first_commas) || is_too_long(block_begin + records.ends.front().offset)) {
            return false;
        }
        for (const RecordEnd& record : records.ends) {
            complete(block_begin + record.offset, line_ + record.line_feeds);
        }
        commas_ = records.last_commas;
    }
    line_ += scan.line_feeds;
    inside_ = inside_ != scan.has_odd_quotes;
    return block_end - begin_.offset <= longest_window;
}

bool RecordStitcher::finish() {
    if (begin_.offset < range_.end) {
        if (inside_ || !has_all_columns(0) || range_.end - begin_.offset > longest_record ||
            (columns_ > 0 && byte_at(range_.end - 1) == '\r')) {
            return false;
        }
        complete(range_.end, line_);
    }
    if (begin_.record % checkpoint_records != 0) {
        close_stretch(begin_.record % checkpoint_records);
    }
    return true;
}

RecordRange RecordStitcher::from_open_record() const {
    return {.begin = begin_.offset,
            .end = range_.end,
            .line = begin_.line,
            .item = range_.item + begin_.record,
            .items_each = range_.items_each};
}

/// Whether the open record does, with `commas` more.
bool RecordStitcher::has_all_columns(std::uint64_t commas) const {
    return columns_ == 0 || commas_ + commas + 1 == columns_;
}

/// Whether the open record is, which ends with a line feed before `end`.
bool RecordStitcher::is_too_long(std::uint64_t end) const {
    const std::uint64_t bytes = end - begin_.offset;
    return bytes > longest_window || (bytes == longest_window && byte_at(end - 2) != '\r');
}

char RecordStitcher::byte_at(std::uint64_t offset) const {
    char byte = 0;
    file_.read(offset, std::as_writable_bytes(std::span(&byte, 1)));
    return byte;
}

void RecordStitcher::complete(std::uint64_t end, std::uint64_t line) {
    stretch_[begin_.record % checkpoint_records] = begin_;
    begin_ = {begin_.record + 1, end, line};
    if (begin_.record % checkpoint_records == 0) {
        close_stretch(checkpoint_records);
    }
}

/// Keeps as many places of the last records as their length asks for.
void RecordStitcher::close_stretch(std::uint64_t records) {
    const std::uint64_t bytes = begin_.offset - stretch_.front().offset;
    const std::uint64_t step =
        std::bit_floor(std::clamp<std::uint64_t>(checkpoint_bytes * records / bytes, 1, checkpoint_records));
    for (std::uint64_t i = 0; i < records; i += step) {
        if (stretch_[i].record != 0) {
            new_.push_back(stretch_[i]);
        }
    }
}

}  // namespace sluice
