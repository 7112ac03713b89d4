#pragma once

#include <optional>

#include "apps/namegen/libc_draws.hpp"
#include "apps/namegen/namegen_options.hpp"
#include "core/codec.hpp"

namespace sluice::namegen {

/// Encodes a name's number, prefix and random numbers as an item; decodes names with length and log-probability from
/// results (docs/namegen.md).
class NamegenCodec final : public ItemCodec {
public:
    explicit NamegenCodec(const NamegenOptions& options);

    [[nodiscard]] IoShape shape() const noexcept override { return generator_io(options_.sampling.max_length); }
    [[nodiscard]] bool needs_text() const noexcept override { return false; }
    [[nodiscard]] ItemProblem check_text(std::string_view text) const override;
    void encode(std::uint64_t item, std::string_view text, std::span<std::byte> to) const override;
    [[nodiscard]] std::vector<std::uint64_t> dense_shape() const override;
    [[nodiscard]] ItemProblem pack_dense(std::span<const float> dense, std::span<std::byte> to) const override;
    [[nodiscard]] std::vector<OutputField> output_fields() const override;
    void decode(std::span<const std::byte> result, Row& row) const override;
    void write_missing(std::span<std::byte> result) const override;

private:
    NamegenOptions options_;
    std::optional<LibcDraws> libc_;
};

}  // namespace sluice::namegen
