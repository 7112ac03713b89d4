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

/// Inputs of choose_encoders().
struct EncodingNeeds {
    std::uint32_t cores = 1;  ///< Cores available for encoding.
    std::uint64_t items = 0;
    std::uint32_t chunk_items = 1;
    std::uint64_t row_bytes = 1;  ///< Per item, on average.
};

/// Number of encoding threads: as many as each get a piece of every chunk that is worth waking them for, at most one
/// per core and at most 8. One for an output that a single thread encodes in a fraction of a second.
[[nodiscard]] std::uint32_t choose_encoders(const EncodingNeeds& needs);

/// Throws Error (configuration) if `format` cannot represent these columns (E-OUT-027), or those that a key adds
/// (E-CFG-105), and ContractViolation if no format can.
void check_format(OutputFormat format, std::span<const OutputField> fields);

/// Encodes results as an output file: a header, then rows. Called by one thread; others may help.
class RowEncoder {
public:
    /// `codec` outlives this object. Throws Error like check_format().
    RowEncoder(OutputFormat format, const ItemCodec& codec);

    /// Encodes with `threads` threads from now on, including the caller. Starts the others here, on the caller's CPUs.
    void use_threads(std::uint32_t threads);

    /// Header of a file with `items` items; may be empty.
    [[nodiscard]] std::string header(std::uint64_t items) const;

    struct Rows {
        std::span<const std::byte> bytes{};
        std::uint64_t nonfinite = 0;  ///< Values that are NaN or infinite.
    };

    /// Rows of `count` items from number `first` on, given their `results`. Valid until the next call.
    [[nodiscard]] Rows encode(std::uint64_t first, std::uint32_t count, std::span<const std::byte> results);

    /// Estimated bytes of a row, for items up to number `items`: exact for .npy, otherwise within a factor of two; text
    /// is assumed to fill half of its maximum.
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
