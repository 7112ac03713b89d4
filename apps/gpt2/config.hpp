#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "kernels/decoder.hpp"

namespace sluice::gpt2 {

/// Models whose tensors are called and lie alike.
enum class Family : std::uint8_t {
    gpt2,
    llama,  ///< And Mistral, Qwen 2.
};

/// What config.json says.
struct Config {
    DecoderShape shape{};
    std::optional<std::uint32_t> begin{};  ///< The token that stands for an empty prompt.
    std::optional<std::uint32_t> end{};    ///< The token that ends a text.
    Family family = Family::gpt2;
    bool has_own_head = false;         ///< Not the token embeddings.
    bool has_query_bias = false;       ///< Of Llama's: of queries, keys and values.
    bool has_projection_bias = false;  ///< Likewise: of what follows attention.
    bool has_inner_bias = false;       ///< Likewise: of expansion and contraction.
    friend bool operator==(const Config&, const Config&) = default;
};

/// Of the 124M model.
[[nodiscard]] Config default_config();

/// Throws Error (no_input, bad_data: E-MOD-170) unless it is one of a model that computes as a DecoderShape says.
[[nodiscard]] Config read_config(const std::filesystem::path& file);

}  // namespace sluice::gpt2
