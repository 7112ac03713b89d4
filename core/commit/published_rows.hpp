#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/commit/file.hpp"
#include "core/commit/manifest.hpp"
#include "core/commit/run_paths.hpp"
#include "core/config/config.hpp"
#include "core/output/row_encoder.hpp"

namespace sluice {

/// The rows of a published output, read forward once: it holds one row and a window of the file, and passes over parts
/// of which no row is asked for.
class PublishedRows {
public:
    /// `encoder`, which outlives this object, makes rows of that format and of the run's fields.
    PublishedRows(const RunPaths& paths, Manifest manifest, OutputFormat format, const RowEncoder& encoder);

    /// The bytes of the row of `item`, which is larger than all asked for before. Of a part's last item it is all that
    /// is left of the part; empty where the part ends before the row. Valid until the next call. Throws Error like
    /// File.
    [[nodiscard]] std::string_view row(std::uint64_t item);

private:
    void enter_part_of(std::uint64_t item);
    [[nodiscard]] std::string header() const;
    void skip_to(std::uint64_t offset);
    [[nodiscard]] std::string_view window();
    void take(std::size_t bytes);
    void take_row();
    void pass_row();
    template <class Piece>
    void each_piece_of_row(Piece&& piece);

    std::filesystem::path folder_;
    OutputLayout layout_;
    Manifest manifest_;
    const RowEncoder& encoder_;
    bool has_quotes_;          // a line feed may stand in a row
    std::uint64_t row_bytes_;  // 0: rows are lines of any length

    std::size_t part_ = 0;
    std::uint64_t first_item_ = 0;  // of the part
    std::optional<File> file_;      // nullopt: the part has not been entered
    std::uint64_t first_row_ = 0;   // its place in the file
    std::uint64_t next_item_ = 0;   // the item of the row that the window begins with
    std::uint64_t loaded_ = 0;      // the place behind the window
    std::uint64_t end_ = 0;         // of the part
    std::vector<char> buffer_;
    std::size_t begin_ = 0;  // of the window in the buffer
    std::size_t filled_ = 0;
    std::string row_;
};

}  // namespace sluice
