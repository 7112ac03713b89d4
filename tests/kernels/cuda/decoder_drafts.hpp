#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "kernels/kernels.hpp"
#include "tests/kernels/cuda/gpu.hpp"
#include "tests/kernels/decoder_texts.hpp"

/// Drafts of texts, and their checks.
namespace sluice::test {

inline constexpr std::uint64_t four_gib = std::uint64_t{1} << 32U;

/// A decoder, the texts that it has written of random prompts, and what its checker says of them.
class DecoderDrafts {
public:
    /// `more_bytes`: of the device's memory, beyond the least.
    DecoderDrafts(Device& device, Precision precision, const RandomDecoder& model, const TokenSampling& sampling,
                  std::uint32_t items, std::uint64_t more_bytes = four_gib)
        : sampling_(sampling),
          io_(decoder_io(sampling)),
          items_(items),
          stream_(device.make_stream({})),
          in_(prompts(model.shape().vocabulary)),
          out_(items * std::size_t{io_.output_bytes}),
          choices_(items * std::size_t{sampling.max_new} * sizeof(ChoiceDoubt)),
          doubts_(items * sizeof(TextDoubt)),
          layer_(decoder_kernels_of(DeviceKind::cuda, precision)
                     .decoder(model.shape(), model.weights(), sampling, packed_)) {
        packed_.pack(NodeMemory::of_process(packed_.bytes()), {}, 2);
        decoder_ = layer_->make_decoder(device, items, layer_->least_bytes(items) + more_bytes);
        checker_ = decoder_->make_checker(device, items);
        drafts_ = write();
        const std::vector<std::byte> choices = choices_.content();
        choice_doubts_.resize(choices.size() / sizeof(ChoiceDoubt));
        std::memcpy(choice_doubts_.data(), choices.data(), choices.size());
    }

    /// The texts that the decoder writes, and their doubts to choices().
    std::vector<std::byte> write() {
        out_.poison();
        const std::array from{in()};
        const std::array written{out(), choices()};
        decoder_->enqueue(*stream_, {.items = items_}, from, written);
        stream_->record().wait();
        return out_.content();
    }

    std::vector<TextDoubt> check(const TextDoubt& bounds) {
        checker_->set_bounds(bounds);
        out_.set(drafts_);
        choices_.set(std::as_bytes(std::span(choice_doubts_)));
        doubts_.poison();
        const std::array<std::span<const std::byte>, 2> items_and_choices{in(), choices()};
        const std::array to{out(), std::span(doubts_.as<std::byte>(), items_ * sizeof(TextDoubt))};
        checker_->enqueue(*stream_, {.items = items_}, items_and_choices, to);
        stream_->record().wait();
        checked_texts_ = out_.content();
        std::vector<TextDoubt> doubts(items_);
        const std::vector<std::byte> got = doubts_.content();
        std::memcpy(doubts.data(), got.data(), got.size());
        return doubts;
    }

    /// What check() has made of an item's draft.
    [[nodiscard]] std::span<const std::byte> checked_text(std::uint32_t item) const {
        return of_item(checked_texts_, item);
    }
    [[nodiscard]] std::span<const std::byte> draft(std::uint32_t item) const { return of_item(drafts_, item); }
    [[nodiscard]] const std::vector<std::byte>& all() const { return drafts_; }

    [[nodiscard]] ContinuationStart start(std::uint32_t item) const {
        ContinuationStart start;
        std::memcpy(&start, &drafts_[item * std::size_t{io_.output_bytes}], sizeof start);
        return start;
    }
    void set_start(std::uint32_t item, const ContinuationStart& start) {
        std::memcpy(&drafts_[item * std::size_t{io_.output_bytes}], &start, sizeof start);
    }
    [[nodiscard]] std::uint32_t choices(std::uint32_t item) const {
        const ContinuationStart of = start(item);
        return of.tokens + (of.has_end != 0 ? 1 : 0);
    }
    [[nodiscard]] ChoiceDoubt& choice(std::uint32_t item, std::uint32_t i) {
        return choice_doubts_[item * std::size_t{sampling_.max_new} + i];
    }
    [[nodiscard]] std::uint32_t token(std::uint32_t item, std::uint32_t i) const {
        std::uint32_t token;
        std::memcpy(&token, &drafts_[token_at(item, i)], sizeof token);
        return token;
    }
    void set_token(std::uint32_t item, std::uint32_t i, std::uint32_t token) {
        std::memcpy(&drafts_[token_at(item, i)], &token, sizeof token);
    }
    /// Another token in place of the i-th.
    void change_token(std::uint32_t item, std::uint32_t i) { set_token(item, i, token(item, i) == 7 ? 8 : 7); }
    [[nodiscard]] std::uint32_t items() const { return items_; }
    [[nodiscard]] std::uint64_t checked() const { return checker_->checked(); }
    [[nodiscard]] std::uint64_t corrected() const { return checker_->corrected(); }
    [[nodiscard]] TextCounts counts() const { return decoder_->counts(); }

private:
    [[nodiscard]] std::span<const std::byte> of_item(const std::vector<std::byte>& texts, std::uint32_t item) const {
        return std::span(texts).subspan(item * std::size_t{io_.output_bytes}, io_.output_bytes);
    }
    [[nodiscard]] std::size_t token_at(std::uint32_t item, std::uint32_t i) const {
        return item * std::size_t{io_.output_bytes} + sizeof(ContinuationStart) + i * sizeof(std::uint32_t);
    }
    [[nodiscard]] std::span<const std::byte> in() const {
        return {in_.as<const std::byte>(), items_ * std::size_t{io_.input_bytes}};
    }
    [[nodiscard]] std::span<std::byte> out() const {
        return {out_.as<std::byte>(), items_ * std::size_t{io_.output_bytes}};
    }
    [[nodiscard]] std::span<std::byte> choices() const {
        return {choices_.as<std::byte>(), items_ * std::size_t{sampling_.max_new} * sizeof(ChoiceDoubt)};
    }

    /// Of three prompts two begin alike.
    [[nodiscard]] std::vector<std::byte> prompts(std::uint32_t vocabulary) const {
        std::vector<Tokens> tokens = test::random_prompts(items_, sampling_.max_prompt, vocabulary, 11);
        for (std::uint32_t i = 0; i < items_; ++i) {
            if (i % 3 != 0) {
                const std::size_t alike = std::min<std::size_t>(tokens[i].size(), sampling_.max_prompt * 4 / 5);
                std::ranges::generate(tokens[i].begin(), tokens[i].begin() + static_cast<std::ptrdiff_t>(alike),
                                      [token = 0U, vocabulary]() mutable { return token++ * 7 % vocabulary; });
            }
        }
        std::vector<std::byte> items(items_ * std::size_t{io_.input_bytes});
        for (std::uint32_t i = 0; i < items_; ++i) {
            const PromptStart start{.number = i, .tokens = static_cast<std::uint32_t>(tokens[i].size())};
            std::byte* const at = &items[i * std::size_t{io_.input_bytes}];
            std::memcpy(at, &start, sizeof start);
            std::memcpy(at + sizeof start, tokens[i].data(), tokens[i].size() * sizeof(std::uint32_t));
        }
        return items;
    }

    TokenSampling sampling_;
    IoShape io_;
    std::uint32_t items_;
    std::unique_ptr<Stream> stream_;
    DeviceMemory in_;
    DeviceMemory out_;
    DeviceMemory choices_;
    DeviceMemory doubts_;
    PackedWeights packed_;
    std::unique_ptr<DecoderLayer> layer_;
    std::unique_ptr<Decoder> decoder_;
    std::unique_ptr<TextChecker> checker_;
    std::vector<std::byte> drafts_;
    std::vector<std::byte> checked_texts_;
    std::vector<ChoiceDoubt> choice_doubts_;
};

}  // namespace sluice::test
