#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/codec.hpp"
#include "core/config/config.hpp"
#include "core/output/row_writer.hpp"
#include "core/sync/work_team.hpp"

namespace sluice {

/// What decides how many threads make rows of results.
struct EncodingNeeds {
    std::uint32_t cores = 1;  ///< That they may use.
    std::uint64_t items = 0;
    std::uint32_t chunk_items = 1;
    std::uint64_t row_bytes = 1;  ///< Of one item, on average.
};

/// As many as have a piece of every chunk that is worth waking them, at most one a core and 8. One for an output that
/// a single thread encodes in a fraction of a second.
[[nodiscard]] std::uint32_t choose_encoders(const EncodingNeeds& needs);

/// Throws Error (configuration, E-OUT-027) when an output of that format cannot have these columns.
void check_format(OutputFormat format, std::span<const OutputField> fields);

/// Results as the bytes of an output file: its header, then rows. One thread calls it, others may help.
class RowEncoder {
public:
    /// `codec` outlives it. Throws Error as check_format.
    RowEncoder(OutputFormat format, const ItemCodec& codec);

    /// From now on `threads` encode, the caller one of them. The others are born here, on its CPUs.
    void use_threads(std::uint32_t threads);

    /// What a file of `items` items begins with; may be empty.
    [[nodiscard]] std::string header(std::uint64_t items) const;

    struct Rows {
        std::span<const std::byte> bytes{};
        std::uint64_t nonfinite = 0;  ///< Values that are NaN or infinite.
    };

    /// The rows of `count` items from number `first` on; `results` are theirs. Valid until the next call.
    [[nodiscard]] Rows encode(std::uint64_t first, std::uint32_t count, std::span<const std::byte> results);

    /// About how long a row is, for items up to number `items`: exact for .npy, else right within a factor of two; for
    /// text as if it filled half of its room.
    [[nodiscard]] std::uint64_t estimate_row_bytes(std::uint64_t items) const;

private:
    struct Piece {
        std::unique_ptr<RowWriter> writer;
        std::uint64_t nonfinite = 0;
    };

    void encode_piece(std::uint32_t piece, std::uint32_t pieces, std::uint64_t first,
                      std::span<const std::byte> results);

    OutputFormat format_;
    const ItemCodec& codec_;
    std::vector<OutputField> fields_;
    std::size_t result_bytes_;
    std::vector<Piece> pieces_;  // of a chunk
    CharBuffer joined_;
    std::optional<WorkTeam> team_;
};

/// ".csv", ".jsonl", ".npy" or ".txt".
[[nodiscard]] std::string extension_of(OutputFormat format);

}  // namespace sluice
