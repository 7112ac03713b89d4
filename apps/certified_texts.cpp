#include "apps/certified_texts.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/event.hpp"

namespace sluice {
namespace {

template <class T>
T read_at(std::span<const std::byte> bytes, std::size_t at) {
    T value;
    std::memcpy(&value, &bytes[at], sizeof value);
    return value;
}

/// A name's bytes, which hold no zero, and the zeros after it; not its log-probability.
bool same_name(const WrittenTexts& a, const WrittenTexts& b, std::size_t item, std::size_t bytes) {
    const std::size_t at = item * bytes + sizeof(TextEnd);
    return std::memcmp(&a.results[at], &b.results[at], bytes - sizeof(TextEnd)) == 0;
}

SeenTexts compare(const WrittenTexts& fast, const WrittenTexts& exact, const GeneratorTexts& form) {
    SeenTexts seen;
    for (std::size_t i = 0; i < fast.doubts.size(); ++i) {
        if (same_name(fast, exact, i, form.io().output_bytes)) {
            seen.alike.push_back({.fast = fast.doubts[i], .exact = exact.doubts[i]});
        } else {
            seen.differing.push_back(fast.doubts[i]);
        }
    }
    return seen;
}

/// A continuation's choices, one by one.
class Choices {
public:
    Choices(const WrittenTexts& written, const TokenSampling& sampling, std::size_t item)
        : written_(written), at_(item * decoder_io(sampling).output_bytes), first_(item * sampling.max_new) {
        const auto start = read_at<ContinuationStart>(written.results, at_);
        tokens_ = start.tokens;
        count_ = start.tokens + (start.has_end != 0 ? 1 : 0);
    }

    [[nodiscard]] std::size_t count() const { return count_; }
    /// The end is as no token.
    [[nodiscard]] std::uint32_t token(std::size_t i) const {
        return i < tokens_ ? read_at<std::uint32_t>(written_.results, at_ + sizeof(ContinuationStart) + i * 4)
                           : UINT32_MAX;
    }
    [[nodiscard]] const ChoiceDoubt& doubt(std::size_t i) const { return written_.choices[first_ + i]; }

private:
    const WrittenTexts& written_;
    std::size_t at_;
    std::size_t first_;
    std::size_t tokens_ = 0;
    std::size_t count_ = 0;
};

SeenTexts compare(const WrittenTexts& fast, const WrittenTexts& exact, const DecoderTexts& form) {
    SeenTexts seen;
    const std::size_t items = fast.results.size() / form.io().output_bytes;
    for (std::size_t item = 0; item < items; ++item) {
        const Choices mine(fast, form.sampling, item);
        const Choices others(exact, form.sampling, item);
        // Up to where one ends so does the other, or they differ before.
        for (std::size_t i = 0; i < std::min(mine.count(), others.count()); ++i) {
            if (mine.token(i) != others.token(i)) {
                seen.differing.push_back(mine.doubt(i).doubt);
                break;
            }
            if (mine.doubt(i).kept == others.doubt(i).kept) {
                seen.alike.push_back({.fast = mine.doubt(i).doubt, .exact = others.doubt(i).doubt});
            }
        }
    }
    return seen;
}

}  // namespace

std::uint64_t doubt_bytes_of(const TextForm& form) {
    const auto* const continuations = std::get_if<DecoderTexts>(&form);
    return continuations == nullptr ? sizeof(TextDoubt) : continuations->sampling.max_new * sizeof(ChoiceDoubt);
}

CertifiedTexts::CertifiedTexts(const CertifierKernels& kernels, Device& device, const TextCertifierShape& shape,
                               std::unique_ptr<TextWriter> fast, std::unique_ptr<TextWriter> exact,
                               TextChecking checking)
    : shape_(shape),
      fast_(std::move(fast)),
      exact_(std::move(exact)),
      doubts_(device.allocate(MemorySpace::device, shape.most_items * sizeof(TextDoubt))),
      checking_(std::move(checking)),
      choices_(device.allocate(MemorySpace::device,
                               checking_.checker == nullptr ? 0 : shape.most_items * doubt_bytes_of(shape.form))),
      certifier_(kernels.make_text_certifier(device, shape, *exact_)) {}

void CertifiedTexts::enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) {
    expects(in.size() == 1 && (out.size() == 1 || out.size() == 2), "texts: take one tensor and make one or two");
    const std::span<std::byte> doubts =
        out.size() == 2 ? out[1] : doubts_.bytes().first(batch.items * sizeof(TextDoubt));
    if (checking_.checker == nullptr) {
        const std::array<std::span<std::byte>, 2> results_and_doubts{out[0], doubts};
        fast_->enqueue(stream, batch, in, results_and_doubts);
    } else {
        expects(out.size() == 1, "texts: checked drafts have no doubts of their own");
        const std::span<std::byte> choices = choices_.bytes().first(batch.items * doubt_bytes_of(shape_.form));
        const std::array<std::span<std::byte>, 2> drafts{out[0], choices};
        fast_->enqueue(stream, batch, in, drafts);
        const std::array<std::span<const std::byte>, 2> items_and_choices{in[0], choices};
        const std::array<std::span<std::byte>, 2> texts_and_doubts{out[0], doubts};
        checking_.checker->enqueue(stream, batch, items_and_choices, texts_and_doubts);
    }
    const std::array<std::span<const std::byte>, 2> items_and_doubts{in[0], doubts};
    certifier_->enqueue(stream, batch, items_and_doubts, out.first(1));
}

TextCounts CertifiedTexts::counts() const {
    TextCounts counts = fast_->counts() + exact_->counts() - certifier_->retracted();
    counts.shared = fast_->counts().shared;  // of each text once
    if (checking_.writer != nullptr) {
        counts = counts + checking_.writer->counts();  // less than none, where a corrected text is shorter
    }
    return counts;
}

void CertifiedTexts::set_bounds(const TextDoubt& bounds, const TextDoubt& of_checks) {
    bounds_ = bounds;
    if (checking_.checker == nullptr) {
        certifier_->set_bounds(bounds);
        return;
    }
    checking_.checker->set_bounds(bounds);
    certifier_->set_bounds(of_checks);
}

std::uint64_t write_texts_bytes(const TextForm& form, std::uint32_t group) {
    const IoShape io = io_of(form);
    return group * (std::uint64_t{io.input_bytes} + io.output_bytes + doubt_bytes_of(form));
}

WrittenTexts write_texts(TextWriter& writer, const TextForm& form, std::uint32_t group, Device& device, Stream& stream,
                         std::span<const std::byte> sample) {
    const IoShape io = io_of(form);
    const std::size_t items = sample.size() / io.input_bytes;
    const std::size_t doubt_bytes = doubt_bytes_of(form);
    group = static_cast<std::uint32_t>(std::min<std::size_t>(group, std::max<std::size_t>(items, 1)));
    const Buffer in = device.allocate(MemorySpace::device, group * std::size_t{io.input_bytes});
    const Buffer out = device.allocate(MemorySpace::device, group * std::size_t{io.output_bytes});
    const Buffer doubts = device.allocate(MemorySpace::device, group * doubt_bytes);
    WrittenTexts written{.results = std::vector<std::byte>(items * io.output_bytes), .doubts = {}, .choices = {}};
    std::span<std::byte> all_doubts;
    if (std::holds_alternative<GeneratorTexts>(form)) {
        written.doubts.resize(items);
        all_doubts = std::as_writable_bytes(std::span(written.doubts));
    } else {
        written.choices.resize(items * doubt_bytes / sizeof(ChoiceDoubt));
        all_doubts = std::as_writable_bytes(std::span(written.choices));
    }
    for (std::size_t first = 0; first < items; first += group) {
        const std::size_t count = std::min<std::size_t>(group, items - first);
        const std::span<std::byte> from = in.bytes().first(count * io.input_bytes);
        const std::array<std::span<std::byte>, 2> to{out.bytes().first(count * io.output_bytes),
                                                     doubts.bytes().first(count * doubt_bytes)};
        const std::span<const std::byte> read = from;
        stream.copy(from, sample.subspan(first * io.input_bytes, from.size()));
        writer.enqueue(stream, {.items = count}, Inputs(&read, 1), to);
        stream.copy(std::span(written.results).subspan(first * io.output_bytes, to[0].size()), to[0]);
        stream.copy(all_doubts.subspan(first * doubt_bytes, to[1].size()), to[1]);
        stream.record().wait();
    }
    return written;
}

SeenTexts compare_texts(const WrittenTexts& fast, const WrittenTexts& exact, const TextForm& form) {
    return std::visit([&](const auto& of) { return compare(fast, exact, of); }, form);
}

}  // namespace sluice
