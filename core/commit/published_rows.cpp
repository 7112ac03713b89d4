#include "core/commit/published_rows.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::size_t window_bytes = std::size_t{1} << 20;

}  // namespace

PublishedRows::PublishedRows(const RunPaths& paths, Manifest manifest, OutputFormat format, const RowEncoder& encoder)
    : folder_(paths.published_folder()),
      layout_(paths.layout),
      manifest_(std::move(manifest)),
      encoder_(encoder),
      has_quotes_(format == OutputFormat::csv),
      row_bytes_(format == OutputFormat::npy ? encoder.estimate_row_bytes(manifest_.items()) : 0),
      buffer_(window_bytes) {}

std::string_view PublishedRows::row(std::uint64_t item) {
    expects(item >= next_item_ && item < manifest_.items(), "PublishedRows: rows are asked for in order");
    row_.clear();
    enter_part_of(item);
    if (row_bytes_ != 0) {
        skip_to(std::min(end_, first_row_ + (item - first_item_) * row_bytes_));
        next_item_ = item;
    }
    for (; next_item_ < item; ++next_item_) {
        pass_row();
    }
    take_row();
    ++next_item_;
    return row_;
}

void PublishedRows::enter_part_of(std::uint64_t item) {
    for (; item >= first_item_ + manifest_.parts[part_].sealed.items; ++part_) {
        first_item_ += manifest_.parts[part_].sealed.items;
        file_.reset();
    }
    if (!file_) {
        const PublishedPart& part = manifest_.parts[part_];
        file_ = File::open(folder_ / part.file);
        end_ = part.offset + part.sealed.bytes;
        first_row_ = std::min(end_, part.offset + header().size());
        loaded_ = first_row_;
        begin_ = filled_ = 0;
        next_item_ = first_item_;
    }
}

/// What the part begins with.
std::string PublishedRows::header() const {
    if (layout_ == OutputLayout::folder) {
        return encoder_.header(manifest_.parts[part_].sealed.items);
    }
    return part_ == 0 ? encoder_.header(manifest_.items()) : std::string();
}

void PublishedRows::skip_to(std::uint64_t offset) {
    const std::uint64_t at = loaded_ - (filled_ - begin_);
    if (offset <= loaded_) {
        begin_ += offset - at;
    } else {
        loaded_ = offset;
        begin_ = filled_ = 0;
    }
}

/// What is loaded and not yet taken, at least a byte; empty at the part's end, or where the file ends before it.
std::string_view PublishedRows::window() {
    if (begin_ == filled_) {
        const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), end_ - loaded_));
        begin_ = filled_ = 0;
        if (bytes != 0 && file_->read_at(loaded_, std::as_writable_bytes(std::span(buffer_)).first(bytes))) {
            filled_ = bytes;
            loaded_ += bytes;
        }
    }
    return {buffer_.data() + begin_, filled_ - begin_};
}

void PublishedRows::take(std::size_t bytes) {
    for (std::string_view view = window(); bytes != 0 && !view.empty(); view = window()) {
        const std::string_view piece = view.substr(0, bytes);
        row_ += piece;
        begin_ += piece.size();
        bytes -= piece.size();
    }
}

void PublishedRows::take_row() {
    if (next_item_ + 1 == first_item_ + manifest_.parts[part_].sealed.items) {
        take(end_ - (loaded_ - (filled_ - begin_)));
    } else if (row_bytes_ != 0) {
        take(row_bytes_);
    } else {
        each_piece_of_row([this](std::string_view piece) { row_ += piece; });
    }
}

void PublishedRows::pass_row() {
    each_piece_of_row([](std::string_view) {});
}

/// Up to a line feed outside of quotes; a quote that is doubled closes them and opens them again.
template <class Piece>
void PublishedRows::each_piece_of_row(Piece&& piece) {
    bool is_quoted = false;
    bool has_ended = false;
    for (std::string_view view = window(); !has_ended && !view.empty(); view = window()) {
        const std::size_t feed = view.find('\n');
        view = view.substr(0, feed == std::string_view::npos ? feed : feed + 1);
        is_quoted = is_quoted != (has_quotes_ && std::ranges::count(view, '"') % 2 != 0);
        piece(view);
        begin_ += view.size();
        has_ended = feed != std::string_view::npos && !is_quoted;
    }
}

}  // namespace sluice
