#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/gpt2_options.hpp"
#include "apps/gpt2/tokenizer.hpp"
#include "core/codec.hpp"

namespace sluice::gpt2 {

/// Encodes prompts as tokens and decodes tokens to the output's columns.
class Gpt2Codec final : public ItemCodec {
public:
    /// Without a tokenizer prompts and results are ids. `begin` is the token of an empty prompt; ids are below
    /// `vocabulary`.
    Gpt2Codec(const Options& options, std::optional<Tokenizer> tokenizer, std::optional<TokenId> begin,
              std::uint32_t vocabulary);

    [[nodiscard]] IoShape shape() const noexcept override { return decoder_io(options_.sampling); }
    [[nodiscard]] bool needs_text() const noexcept override { return false; }
    [[nodiscard]] ItemProblem check_text(std::string_view text) const override;
    void encode(std::uint64_t item, std::string_view text, std::span<std::byte> to) const override;
    [[nodiscard]] bool takes_integers_as_text() const noexcept override { return options_.takes_ids; }
    [[nodiscard]] std::uint32_t row_integers() const noexcept override { return options_.sampling.max_prompt; }
    [[nodiscard]] ItemProblem pack_integers(std::uint64_t item, std::span<const std::int64_t> row,
                                            std::span<std::byte> to) const override;
    [[nodiscard]] std::vector<OutputField> output_fields() const override;
    void decode(std::span<const std::byte> result, Row& row) const override;
    [[nodiscard]] std::uint64_t nonfinite(std::span<const std::byte> results) const override;
    [[nodiscard]] bool counts_nonfinite_items() const override { return true; }
    void write_missing(std::span<std::byte> result) const override;

private:
    struct Prompt {
        std::vector<TokenId> tokens;
        std::size_t beginning = 0;  // tokens that are kept when the prompt is cut
        ItemProblem problem;
    };

    [[nodiscard]] Prompt prompt_of(std::string_view text) const;
    [[nodiscard]] Prompt ids_of(std::string_view text) const;
    [[nodiscard]] Prompt ids_of(std::span<const std::int64_t> row) const;
    void begin_empty(Prompt& prompt) const;
    [[nodiscard]] ItemProblem problem_of(const Prompt& prompt) const;
    void pack(std::uint64_t item, const Prompt& prompt, std::span<std::byte> to) const;
    void decode_log_probabilities(std::span<const float> values, Row& row) const;
    [[nodiscard]] std::string text_of(std::span<const TokenId> tokens) const;

    Options options_;
    std::optional<Tokenizer> tokenizer_;
    std::optional<TokenId> begin_;
    std::uint32_t vocabulary_;
};

}  // namespace sluice::gpt2
