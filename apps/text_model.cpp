#include "apps/text_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/doubt_bounds.hpp"

namespace sluice {
namespace {

std::unique_ptr<CertifiedTexts> make_certified(const CertifierKernels& kernels, Device& device, TextCascade& cascade) {
    auto& [fast, middle, exact] = cascade.stages;
    auto again = std::make_unique<CertifiedTexts>(
        kernels, device, TextCertifierShape{.form = cascade.form, .most_items = middle.items, .batch = exact.items},
        std::move(middle.writer), std::move(exact.writer), TextChecking{.checker = std::move(cascade.exact_checker)});
    return std::make_unique<CertifiedTexts>(
        kernels, device, TextCertifierShape{.form = cascade.form, .most_items = fast.items, .batch = middle.items},
        std::move(fast.writer), std::move(again), std::move(cascade.checking));
}

}  // namespace

TextModel::TextModel(const IoShape& shape, std::unique_ptr<TextWriter> writer, NameCounts name_counts)
    : shape_(shape), writer_(std::move(writer)), name_counts_(name_counts) {}

void TextModel::forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) {
    forward_active(stream, items, nullptr, in, out);
}

void TextModel::forward_active(Stream& stream, std::size_t items, const std::uint32_t* active,
                               std::span<const std::byte> in, std::span<std::byte> out) {
    writer_->enqueue(stream, {.items = items, .active = active}, in, out);
}

std::vector<ModelCount> TextModel::counts() const {
    return name_counts_(writer_->counts() - before_);
}

void TextModel::begin_counts() {
    before_ = writer_->counts();
}

CertifiedTextModel::CertifiedTextModel(const CertifierKernels& kernels, Device& device, TextCascade cascade,
                                       NameCounts name_counts)
    : CertifiedTextModel(device, io_of(cascade.form), make_certified(kernels, device, cascade), name_counts) {}

CertifiedTextModel::CertifiedTextModel(Device& device, const IoShape& shape, std::unique_ptr<CertifiedTexts> texts,
                                       NameCounts name_counts)
    : TextModel(shape, std::move(texts), name_counts),
      device_(device),
      texts_(static_cast<CertifiedTexts&>(writer())),
      again_(static_cast<CertifiedTexts&>(texts_.exact())) {}

void CertifiedTextModel::calibrate(Stream& stream, std::span<const std::byte> sample) {
    const TextForm& form = texts_.shape().form;
    const auto written = [&](TextWriter& writer, std::uint32_t group) {
        return write_texts(writer, form, group, device_, stream, sample);
    };
    const WrittenTexts exact = written(again_.exact(), again_.shape().batch);
    const auto bounds_of = [&](TextWriter& writer, std::uint32_t group) {
        const SeenTexts seen = compare_texts(written(writer, group), exact, form);
        return calibrate_doubts(seen.alike, seen.differing);
    };
    again_.set_bounds(bounds_of(again_.fast(), again_.shape().most_items), TextDoubt{.distance = 0, .gap = 0});
    const std::uint32_t items = texts_.shape().most_items;
    TextWriter* const checking = texts_.checking();
    texts_.set_bounds(bounds_of(texts_.fast(), items), checking == nullptr ? TextDoubt{} : bounds_of(*checking, items));
    begin_counts();
}

std::optional<Certification> CertifiedTextModel::certification() const {
    const TextDoubt& bounds = texts_.bounds();
    const bool of_gap = std::isfinite(bounds.gap) && !std::isfinite(bounds.distance);
    const bool of_both = std::isfinite(bounds.gap) && !of_gap;
    std::optional<CertificationChecks> checks;
    if (const TextChecker* const checker = texts_.checker()) {
        checks = {.checked = checker->checked(), .corrected = checker->corrected()};
    }
    return Certification{
        .checks = checks,
        .recomputed = texts_.recomputed(),
        .recomputed_twice = again_.recomputed() + (again_.checker() == nullptr ? 0 : again_.checker()->checked()),
        .bound = static_cast<double>(of_gap ? bounds.gap : bounds.distance),
        .measure = of_gap ? Certification::Measure::gap : Certification::Measure::draw,
        .gap_bound = of_both ? std::optional(static_cast<double>(bounds.gap)) : std::nullopt};
}

std::uint64_t CertifiedTextModel::bytes(const TextForm& form, const std::array<std::uint32_t, 3>& items,
                                        std::uint32_t sample, bool with_checks) {
    const auto certifier = [&](std::uint32_t most_items, std::uint32_t batch) {
        return text_certifier_bytes({.form = form, .most_items = most_items, .batch = batch}) +
               most_items * std::uint64_t{sizeof(TextDoubt)};
    };
    const auto checker = [&](std::uint32_t most_items) {
        return with_checks ? text_checker_bytes(most_items) + most_items * doubt_bytes_of(form) : 0;
    };
    return checker(items[0]) + checker(items[1]) + certifier(items[0], items[1]) + certifier(items[1], items[2]) +
           write_texts_bytes(form, std::min(*std::ranges::max_element(items), sample));
}

}  // namespace sluice
