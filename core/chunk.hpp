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

/// Bytes of one item on the wire, in and out.
struct IoShape {
    std::uint32_t input_bytes = 0;
    std::uint32_t output_bytes = 0;
    friend bool operator==(const IoShape&, const IoShape&) = default;
};

/// What happens to a chunk, in this order. `read`, `scatter`, `gather` and `write` are rank 0's for all; the others
/// each device's.
enum class Stage : std::uint8_t { read, scatter, upload, compute, download, gather, write };

inline constexpr std::size_t stage_count = 7;
inline constexpr std::array<Stage, stage_count> all_stages{
    Stage::read, Stage::scatter, Stage::upload, Stage::compute, Stage::download, Stage::gather, Stage::write};

[[nodiscard]] constexpr std::size_t index_of(Stage stage) noexcept {
    return static_cast<std::size_t>(stage);
}

[[nodiscard]] constexpr std::string_view to_string(Stage stage) noexcept {
    constexpr std::array<std::string_view, stage_count> names{"read",     "scatter", "upload", "compute",
                                                              "download", "gather",  "write"};
    return names[index_of(stage)];
}

}  // namespace sluice
