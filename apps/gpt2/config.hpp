#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "kernels/decoder.hpp"

namespace sluice::gpt2 {

/// What config.json says.
struct Config {
    DecoderShape shape{};
    std::optional<std::uint32_t> begin;  ///< The token that stands for an empty prompt.
    std::optional<std::uint32_t> end;    ///< The token that ends a text.
    friend bool operator==(const Config&, const Config&) = default;
};

/// Of the 124M model.
[[nodiscard]] Config default_config();

/// Throws Error (no_input, bad_data: E-MOD-170) unless it is a GPT-2's.
[[nodiscard]] Config read_config(const std::filesystem::path& file);

}  // namespace sluice::gpt2
