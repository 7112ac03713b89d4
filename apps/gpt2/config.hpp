#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "kernels/decoder.hpp"

namespace sluice::gpt2 {

/// Models with the same names and layouts of tensors.
enum class Family : std::uint8_t {
    gpt2,
    llama,  ///< And Mistral, Qwen 2.
};

/// Contents of config.json.
struct Config {
    DecoderShape shape{};
    std::optional<std::uint32_t> begin{};  ///< Token used for an empty prompt.
    EndTokens end{};                       ///< Tokens that end a text.
    Family family = Family::gpt2;
    bool has_own_head = false;         ///< The head is not tied to the token embeddings.
    bool has_query_bias = false;       ///< Llama family: bias of queries, keys and values.
    bool has_projection_bias = false;  ///< Llama family: bias of the projection after attention.
    bool has_inner_bias = false;       ///< Llama family: bias of expansion and contraction.
    friend bool operator==(const Config&, const Config&) = default;
};

/// Config of the 124M GPT-2.
[[nodiscard]] Config default_config();

/// `generation`: a generation_config.json, whose begin and end tokens replace those of `file`. Throws Error (no_input,
/// bad_data: E-MOD-170) if a DecoderShape cannot describe the model.
[[nodiscard]] Config read_config(const std::filesystem::path& file,
                                 const std::optional<std::filesystem::path>& generation = {});

}  // namespace sluice::gpt2
