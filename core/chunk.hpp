#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {

/// A run of consecutive items: the unit of transfer, compute and failure. Chunk `id` starts at item `first`.
struct Chunk {
    std::uint64_t id = 0;
    std::uint64_t first = 0;
    std::uint32_t count = 0;  ///< 0: the input has ended.

    [[nodiscard]] bool end_of_input() const noexcept { return count == 0; }
    friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// Bytes per item on the wire, of inputs and outputs.
struct IoShape {
    std::uint32_t input_bytes = 0;
    std::uint32_t output_bytes = 0;
    friend bool operator==(const IoShape&, const IoShape&) = default;
};

/// Stages of a chunk, in order. Bytes are read from the file and parsed into items; rows are written, and committed in
/// groups of chunks. `upload`, `compute` and `download` run per device; the others on rank 0 for all devices.
enum class Stage : std::uint8_t { read, parse, scatter, upload, compute, download, gather, write, commit };

inline constexpr std::size_t stage_count = 9;
inline constexpr std::array<Stage, stage_count> all_stages{Stage::read,   Stage::parse,   Stage::scatter,
                                                           Stage::upload, Stage::compute, Stage::download,
                                                           Stage::gather, Stage::write,   Stage::commit};

[[nodiscard]] constexpr std::size_t index_of(Stage stage) noexcept {
    return static_cast<std::size_t>(stage);
}

[[nodiscard]] constexpr std::string_view to_string(Stage stage) noexcept {
    constexpr std::array<std::string_view, stage_count> names{"read",     "parse",  "scatter", "upload", "compute",
                                                              "download", "gather", "write",   "commit"};
    return names[index_of(stage)];
}

}  // namespace sluice
