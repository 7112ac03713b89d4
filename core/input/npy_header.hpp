#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/codec.hpp"
#include "core/input/input_file.hpp"

namespace sluice {

/// What an .npy file holds, in C order. numpy.lib.format describes versions 1.0, 2.0 and 3.0.
struct NpyHeader {
    std::string descr;  ///< The element type: "<f4", "|u1", "<i8", …
    std::vector<std::uint64_t> shape;
    std::uint64_t data_offset = 0;
};

enum class NpyElements { float32_or_uint8, integers };

/// Reads and checks the header strictly. Throws Error (bad_data).
[[nodiscard]] NpyHeader read_npy_header(const InputFile& file, NpyElements expected = NpyElements::float32_or_uint8);

/// The header of `items` outputs with `fields`, padded so that the data begins at a multiple of 64 bytes. One field
/// makes a plain array, (items) or (items, count); several make a structured one, (items).
[[nodiscard]] std::string make_npy_header(std::span<const OutputField> fields, std::uint64_t items);

}  // namespace sluice
