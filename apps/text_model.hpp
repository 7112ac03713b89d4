#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "apps/certified_texts.hpp"
#include "core/app.hpp"
#include "core/model.hpp"
#include "kernels/text_writer.hpp"

namespace sluice {

/// OpenApp::product_work() of text writers, which compute tf32x3 by three products of fp16, and fp16x2 by one and, in
/// the time of another, one of e4m3 that is twice as deep.
[[nodiscard]] constexpr ProductWork product_work_of_texts(Precision precision) noexcept {
    return precision == Precision::tf32x3   ? ProductWork{.precision = Precision::fp16, .products = 3}
           : precision == Precision::fp16x2 ? ProductWork{.precision = Precision::fp16, .products = 2}
                                            : product_work_of(precision);
}

/// A model of any text writer.
class TextModel : public Model {
public:
    /// The app's names of its counters.
    using NameCounts = std::vector<ModelCount> (*)(const TextCounts&);

    TextModel(const IoShape& shape, std::unique_ptr<TextWriter> writer, NameCounts name_counts);

    IoShape shape() const noexcept override { return shape_; }
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override;
    void forward_active(Stream& stream, std::size_t items, const std::uint32_t* active, std::span<const std::byte> in,
                        std::span<std::byte> out) override;
    std::vector<ModelCount> counts() const override;

protected:
    [[nodiscard]] TextWriter& writer() const noexcept { return *writer_; }
    /// counts() start from here.
    void begin_counts();

private:
    IoShape shape_;
    std::unique_ptr<TextWriter> writer_;
    NameCounts name_counts_;
    TextCounts before_{};
};

/// Three writers of the same texts, each at least as accurate as those before it.
struct TextCascade {
    TextForm form;
    /// A writer and its number of items: those of a chunk for the first writer, the batch size of rewriting for the
    /// others.
    struct Stage {
        std::unique_ptr<TextWriter> writer;
        std::uint32_t items;
    };
    std::array<Stage, 3> stages;                           ///< fp16, tf32x3, fp32
    TextChecking checking{};                               ///< Of the first writer's texts.
    std::unique_ptr<TextChecker> exact_checker = nullptr;  ///< Of the second's, made by the third; null: no checks.
};

/// Texts that are certified: the first writer writes all, the second one again those that are not certain, or not after
/// checks, and the third one those that are not certain then, or checks them.
class CertifiedTextModel final : public TextModel {
public:
    CertifiedTextModel(const CertifierKernels& kernels, Device& device, TextCascade cascade, NameCounts name_counts);

    /// All writers write the sample; kernels/doubt_bounds.hpp says what follows. Until then nothing is certain.
    void calibrate(Stream& stream, std::span<const std::byte> sample) override;
    [[nodiscard]] std::optional<Certification> certification() const override;

    /// That the certifiers, and checks, take of a device's memory, beside the writers, and calibrate() of `sample`
    /// items for a while.
    [[nodiscard]] static std::uint64_t bytes(const TextForm& form, const std::array<std::uint32_t, 3>& items,
                                             std::uint32_t sample, bool with_checks);

private:
    CertifiedTextModel(Device& device, const IoShape& shape, std::unique_ptr<CertifiedTexts> texts,
                       NameCounts name_counts);

    Device& device_;
    CertifiedTexts& texts_;  // writer()
    CertifiedTexts& again_;  // what that computes again with
};

}  // namespace sluice
