#include "apps/namegen/certified_texts.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/event.hpp"
#include "kernels/doubt_bounds.hpp"

namespace sluice {

struct CertifiedTexts::Written {
    std::vector<std::byte> results;
    std::vector<TextDoubt> doubts;

    /// Length and bytes, without the log-probability.
    [[nodiscard]] bool same_text(const Written& other, std::size_t item, std::size_t bytes) const {
        TextEnd mine, others;
        std::memcpy(&mine, &results[item * bytes], sizeof mine);
        std::memcpy(&others, &other.results[item * bytes], sizeof others);
        return mine.length == others.length &&
               std::memcmp(&results[item * bytes + sizeof mine], &other.results[item * bytes + sizeof mine],
                           bytes - sizeof mine) == 0;
    }
};

CertifiedTexts::CertifiedTexts(const GeneratorKernels& kernels, Device& device, const TextCertifierShape& shape,
                               std::unique_ptr<Generator> fast, std::unique_ptr<Generator> exact)
    : device_(device),
      shape_(shape),
      io_(generator_io(shape.max_length)),
      fast_(std::move(fast)),
      exact_(std::move(exact)),
      doubts_(device.allocate(MemorySpace::device, shape.max_items * sizeof(TextDoubt))),
      certifier_(kernels.make_text_certifier(device, shape, *exact_)) {}

void CertifiedTexts::enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) {
    expects(in.size() == 1 && (out.size() == 1 || out.size() == 2), "generator: takes one tensor and makes one or two");
    const std::span<std::byte> doubts =
        out.size() == 2 ? out[1] : doubts_.bytes().first(batch.items * sizeof(TextDoubt));
    const std::array<std::span<std::byte>, 2> results_and_doubts{out[0], doubts};
    fast_->enqueue(stream, batch, in, results_and_doubts);
    const std::array<std::span<const std::byte>, 2> items_and_doubts{in[0], doubts};
    certifier_->enqueue(stream, batch, items_and_doubts, out.first(1));
}

GeneratorCounts CertifiedTexts::counts() const {
    const GeneratorCounts fast = fast_->counts();
    const GeneratorCounts exact = exact_->counts();
    const GeneratorCounts retracted = certifier_->retracted();
    return {.texts = fast.texts + exact.texts - retracted.texts,
            .bytes = fast.bytes + exact.bytes - retracted.bytes,
            .ended = fast.ended + exact.ended - retracted.ended};
}

void CertifiedTexts::calibrate(Stream& stream, std::span<const std::byte> sample) {
    const Written fast = write(*fast_, shape_.max_items, stream, sample);
    const Written exact = write(*exact_, shape_.batch, stream, sample);
    std::vector<SeenDoubts> seen;
    std::vector<TextDoubt> differing;
    for (std::size_t i = 0; i < fast.doubts.size(); ++i) {
        if (fast.same_text(exact, i, io_.output_bytes)) {
            seen.push_back({.fast = fast.doubts[i], .exact = exact.doubts[i]});
        } else {
            differing.push_back(fast.doubts[i]);
        }
    }
    bounds_ = calibrate_doubts(seen, differing);
    certifier_->set_bounds(bounds_);
}

CertifiedTexts::Written CertifiedTexts::write(Generator& generator, std::size_t group, Stream& stream,
                                              std::span<const std::byte> sample) const {
    const std::size_t items = sample.size() / io_.input_bytes;
    const Buffer in = device_.allocate(MemorySpace::device, group * io_.input_bytes);
    const Buffer out = device_.allocate(MemorySpace::device, group * io_.output_bytes);
    const Buffer doubts = device_.allocate(MemorySpace::device, group * sizeof(TextDoubt));
    Written written{.results = std::vector<std::byte>(items * io_.output_bytes),
                    .doubts = std::vector<TextDoubt>(items)};
    for (std::size_t first = 0; first < items; first += group) {
        const std::size_t count = std::min(group, items - first);
        const std::span<std::byte> from = in.bytes().first(count * io_.input_bytes);
        const std::array<std::span<std::byte>, 2> to{out.bytes().first(count * io_.output_bytes),
                                                     doubts.bytes().first(count * sizeof(TextDoubt))};
        const std::span<const std::byte> read = from;
        stream.copy(from, sample.subspan(first * io_.input_bytes, from.size()));
        generator.enqueue(stream, {.items = count}, Inputs(&read, 1), to);
        stream.copy(std::span(written.results).subspan(first * io_.output_bytes, to[0].size()), to[0]);
        stream.copy(std::as_writable_bytes(std::span(written.doubts).subspan(first, count)), to[1]);
        stream.record().wait();
    }
    return written;
}

}  // namespace sluice
