#include "apps/gpt2/gpt2_model.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "apps/text_model.hpp"
#include "kernels/kernels.hpp"

namespace sluice::gpt2 {
namespace {

constexpr std::uint32_t fp32_texts = 512;  // that are checked or continued again at a time: few of a chunk

// What they get of the memory beyond the least, at most; fp16 gets the rest.
constexpr std::uint64_t fp16x2_share = 3;
constexpr std::uint64_t tf32x3_share = 4;
constexpr std::uint64_t tf32x3_share_behind_checks = 6;
constexpr std::uint64_t fp32_share = 16;

constexpr std::uint32_t sample_prompts = 2048;

/// Of each decoder. All that a chunk leaves to tf32x3, nearly half of it where random weights draw, is continued
/// together, so that slots that become free take other texts.
std::array<std::uint32_t, 3> items_of(std::uint32_t most_items) {
    return {most_items, most_items, std::min(most_items, fp32_texts)};
}

std::vector<ModelCount> text_counts(const TextCounts& counts) {
    return {{.name = "texts", .value = counts.texts},
            {.name = "prompt_tokens", .value = counts.prompt_tokens},
            {.name = "new_tokens", .value = counts.new_tokens},
            {.name = "ended_early", .value = counts.ended, .beside = ModelCount::Beside::share_of_items},
            {.name = "cut_prompts", .value = counts.cut, .beside = ModelCount::Beside::share_of_items},
            {.name = "shared_prompt_tokens", .value = counts.shared}};
}

}  // namespace

void make_other_prompts(std::span<std::byte> items, std::uint32_t copy, const TokenSampling& sampling,
                        std::uint32_t vocabulary) {
    const std::size_t bytes = decoder_io(sampling).input_bytes;
    for (std::size_t at = 0; at < items.size(); at += bytes) {
        const std::span<std::byte> first = items.subspan(at + sizeof(PromptStart), sizeof(std::uint32_t));
        std::uint32_t token = 0;
        std::memcpy(&token, first.data(), sizeof token);
        token = static_cast<std::uint32_t>((std::uint64_t{token} + copy) % vocabulary);
        std::memcpy(first.data(), &token, sizeof token);
    }
}

std::unique_ptr<Model> make_gpt2_model(const TokenSampling& sampling, std::unique_ptr<Decoder> decoder) {
    return std::make_unique<TextModel>(decoder_io(sampling), std::move(decoder), &text_counts);
}

LoadedCertifiedGpt2::LoadedCertifiedGpt2(const DecoderShape& shape, const DecoderWeights& weights,
                                         const TokenSampling& sampling, DeviceKind kind)
    : kind_(kind), sampling_(sampling), vocabulary_(shape.vocabulary) {
    constexpr std::array precisions{Precision::fp16, Precision::tf32x3, Precision::fp32};
    for (std::size_t i = 0; i < precisions.size(); ++i) {
        layers_[i] = decoder_kernels_of(kind, precisions[i]).decoder(shape, weights, sampling, weights_);
    }
    if (sampling.temperature == 0) {
        checking_ = decoder_kernels_of(kind, Precision::fp16x2).decoder(shape, weights, sampling, weights_);
    }
}

std::unique_ptr<Model> LoadedCertifiedGpt2::make_model(Device& device, const ModelRoom& room) const {
    const std::array<std::uint32_t, 3> items = items_of(room.most_items);
    std::uint64_t left = room.device_bytes - least_room(room.most_items);
    const std::uint64_t all = left;
    const auto make = [&](const DecoderLayer& layer, std::uint32_t of, std::uint64_t more) {
        const std::uint64_t least = layer.least_bytes(of);
        const std::uint64_t bytes = least + more;
        left -= layer.bytes(device, of, bytes) - least;
        return layer.make_decoder(device, of, bytes);
    };
    const auto stage = [&](std::size_t i, std::uint64_t more) {
        return TextCascade::Stage{.writer = make(*layers_[i], items[i], more), .items = items[i]};
    };
    TextCascade cascade{.form = DecoderTexts{sampling_}, .stages = {}};
    std::unique_ptr<Decoder> exact = make(*layers_[2], items[2], all / fp32_share);
    if (checks_drafts()) {
        cascade.exact_checker = exact->make_checker(device, items[1]);
    }
    cascade.stages[2] = {.writer = std::move(exact), .items = items[2]};
    cascade.stages[1] = stage(1, all / (checks_drafts() ? tf32x3_share_behind_checks : tf32x3_share));
    if (checks_drafts()) {
        std::unique_ptr<Decoder> decoder = make(*checking_, items[0], all / fp16x2_share);
        cascade.checking.checker = decoder->make_checker(device, items[0]);
        cascade.checking.writer = std::move(decoder);
    }
    cascade.stages[0] = stage(0, left);
    return std::make_unique<CertifiedTextModel>(kernels_of(kind_).certifier, device, std::move(cascade), &text_counts);
}

std::uint64_t LoadedCertifiedGpt2::least_room(std::uint32_t most_items) const {
    const std::array<std::uint32_t, 3> items = items_of(most_items);
    std::uint64_t bytes = CertifiedTextModel::bytes(DecoderTexts{sampling_}, items, sample_prompts, checks_drafts());
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        bytes += layers_[i]->least_bytes(items[i]);
    }
    return bytes + (checks_drafts() ? checking_->least_bytes(items[0]) : 0);
}

std::uint32_t LoadedCertifiedGpt2::sample_items() const {
    return sample_prompts;
}

}  // namespace sluice::gpt2
