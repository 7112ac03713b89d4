#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

constexpr std::uint64_t safetensors_header_limit = 100'000'000;  ///< Bytes; the format's own limit.
constexpr std::size_t safetensors_tensor_limit = 100'000;
constexpr std::size_t safetensors_rank_limit = 8;
constexpr std::size_t safetensors_name_limit = 512;  ///< Bytes.
constexpr std::size_t safetensors_depth_limit = 8;   ///< Of the header's JSON.

/// One tensor of a safetensors header; [begin, end) counts bytes from the end of the header.
struct SafetensorsEntry {
    std::string name;
    std::string dtype;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

struct SafetensorsHeader {
    std::vector<SafetensorsEntry> tensors;  ///< In the order of their data.
    std::map<std::string, std::string, std::less<>> metadata;
};

/// Parses and validates a header against a file with `data_bytes` after it: no duplicate, known types, offsets that
/// match shapes and tile the data without gap, overlap or rest. Format: github.com/huggingface/safetensors, README.
/// `where` stands for the file in messages. Throws Error (bad_data).
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                                         const std::string& where);

}  // namespace sluice
