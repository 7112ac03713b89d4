#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/codec.hpp"

namespace sluice {

/// Bytes of one output item: int32 and float32 take four each. Throws ContractViolation when it has none.
[[nodiscard]] std::size_t output_bytes(std::span<const OutputField> fields);

/// Fills `item`, output_bytes() long, with what stands for no result.
void fill_with_no_result(std::span<const OutputField> fields, std::span<std::byte> item);

/// "item,label,score_0,score_1\n": a field with one value gives its name, one with more gives name_0, name_1, …
[[nodiscard]] std::string csv_header(std::span<const OutputField> fields);

/// Appends "7,2,0.5,-1.25\n". Floats are the shortest decimals that read back to the same value; also nan, inf, -inf.
void append_csv_row(std::span<const OutputField> fields, std::uint64_t item, std::span<const std::byte> values,
                    std::string& to);

/// Appends {"item":7,"label":2,"scores":[0.5,-1.25]} and a line feed: a field with one value gives its name, one with
/// more the plural and an array. JSON has no NaN or infinity: both give null.
void append_jsonl_row(std::span<const OutputField> fields, std::uint64_t item, std::span<const std::byte> values,
                      std::string& to);

}  // namespace sluice
