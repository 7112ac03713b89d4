#include "apps/certified_model.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "core/device/host_device.hpp"
#include "core/device/host_stream.hpp"
#include "kernels/margin.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t classes = 2;
constexpr std::uint32_t result_bytes = sizeof(std::int32_t) + classes * sizeof(float);

using Scores = std::array<float, classes>;
using Score = Scores (*)(std::uint8_t item);

Scores fast_scores(std::uint8_t item) {
    return {static_cast<float>(item) / 256, 0.5F};
}
Scores exact_scores(std::uint8_t item) {
    return {static_cast<float>(item) / 256 + (item % 2 == 0 ? 1 : -1) / 1024.0F, 0.5F};
}

/// Labels items of one byte, and counts them as computed again.
class LabelModel final : public Model {
public:
    explicit LabelModel(Score score) : score_(score) {}
    [[nodiscard]] IoShape shape() const noexcept override { return {1, result_bytes}; }
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override {
        as_host(stream).run([this, items, in, out] {
            for (std::size_t i = 0; i < items; ++i) {
                const Scores scores = score_(std::to_integer<std::uint8_t>(in[i]));
                std::memcpy(&out[i * result_bytes + sizeof(std::int32_t)], scores.data(), sizeof scores);
            }
        });
        computed_ += items;
    }
    [[nodiscard]] std::optional<Certification> certification() const override {
        return Certification{.recomputed = computed_};
    }

private:
    Score score_;
    std::uint64_t computed_ = 0;
};

class LabelCertifier final : public Certifier {
public:
    explicit LabelCertifier(Margin& margin) : margin_(margin) {}
    using Operation::enqueue;
    void enqueue(Stream&, const Batch&, Inputs, Outputs) override {}
    void set_margin(const Margin& margin) override { margin_ = margin; }
    [[nodiscard]] std::uint64_t recomputed() const override { return 7; }

private:
    Margin& margin_;
};

class LabelCertifiers final : public CertifierKernels {
public:
    std::unique_ptr<Certifier> make_certifier(Device&, const CertifyShape&, Model&) const override {
        return std::make_unique<LabelCertifier>(margin);
    }
    std::unique_ptr<TextCertifier> make_text_certifier(Device&, const TextCertifierShape&, TextWriter&) const override {
        return nullptr;
    }

    mutable Margin margin;
};

TEST(CertifiedModel, LearnsItsMarginFromTheSampleAndCountsWhatComesAfterIt) {
    HostDevice device;
    const Kernels& host = kernels_of(DeviceKind::host);
    const LabelCertifiers certifiers;
    auto owned = std::make_unique<LabelModel>(&exact_scores);
    LabelModel& exact = *owned;
    CertifiedModel model({host.convolution, host.dense, certifiers}, device, std::make_unique<LabelModel>(&fast_scores),
                         std::move(owned), {.classes = classes, .batch = 64}, 100);
    std::vector<std::uint8_t> sample(300);  // neither in whole chunks nor in whole batches
    std::iota(sample.begin(), sample.end(), std::uint8_t{0});
    std::vector<float> fast;
    std::vector<float> right;
    for (const std::uint8_t item : sample) {
        fast.insert(fast.end(), {fast_scores(item)[0], fast_scores(item)[1]});
        right.insert(right.end(), {exact_scores(item)[0], exact_scores(item)[1]});
    }
    const Margin expected = calibrate_margin(fast, right, classes);
    ASSERT_TRUE(std::isfinite(expected.bound));
    EXPECT_FALSE(std::isfinite(model.certification().value_or(Certification()).bound));

    const auto stream = device.make_stream({});
    model.calibrate(*stream, std::as_bytes(std::span(sample)));

    EXPECT_EQ(certifiers.margin.bound, expected.bound);
    EXPECT_EQ(certifiers.margin.offsets, expected.offsets);
    const Certification before = model.certification().value_or(Certification());
    EXPECT_EQ(before.bound, static_cast<double>(expected.bound));
    EXPECT_EQ(before.recomputed, 7U);
    EXPECT_EQ(before.recomputed_twice, 0U);
    std::vector<std::byte> out(5 * std::size_t{result_bytes});
    exact.forward(*stream, 5, std::as_bytes(std::span(sample).first(5)), out);
    stream->record().wait();
    EXPECT_EQ(model.certification().value_or(Certification()).recomputed_twice, 5U);
}

TEST(CertifiedModel, GivesScoresOnlyWhereTheyAreWanted) {
    HostDevice device;
    const Kernels& host = kernels_of(DeviceKind::host);
    const LabelCertifiers certifiers;
    const auto bytes = [&](bool scores) {
        return CertifiedModel({host.convolution, host.dense, certifiers}, device,
                              std::make_unique<LabelModel>(&fast_scores), std::make_unique<LabelModel>(&exact_scores),
                              {.classes = classes, .scores = scores, .batch = 4}, 8)
            .shape()
            .output_bytes;
    };

    EXPECT_EQ(bytes(false), sizeof(std::int32_t));
    EXPECT_EQ(bytes(true), result_bytes);
}

}  // namespace
}  // namespace sluice
