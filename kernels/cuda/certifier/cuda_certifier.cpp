#include <cstddef>
#include <memory>
#include <vector>

#include "core/device/cuda_stream.hpp"
#include "core/error.hpp"
#include "kernels/cuda/certifier/certify.hpp"
#include "kernels/cuda/cuda_layers.hpp"
#include "kernels/cuda/cuda_operation.hpp"

namespace sluice {
namespace {

class CudaCertifier final : public Certifier {
public:
    CudaCertifier(Device& device, const CertifyShape& shape, Model& exact)
        : shape_(shape),
          exact_(exact),
          margin_(device.allocate(MemorySpace::device, (2 + shape.classes) * sizeof(float))),
          recomputation_(device, {.items = shape.most_items,
                                  .batch = shape.batch,
                                  .input_bytes = shape.input_bytes,
                                  .exact_bytes = result_bytes(true),
                                  .result_bytes = result_bytes(shape.scores)}) {
        expects(shape.classes > 0, "certifier: no classes");
        expects(exact.shape().input_bytes == shape.input_bytes && exact.shape().output_bytes == result_bytes(true),
                "certifier: an exact model of another shape");
        set_margin({.offsets = std::vector<float>(shape.classes)});
    }

    void set_margin(const Margin& margin) override {
        expects(margin.offsets.size() == shape_.classes, "certifier: a margin of other classes");
        std::vector<float> values = margin.offsets;
        values.insert(values.end(), {margin.bound, margin.usual});
        copy_now(margin_.bytes(), std::as_bytes(std::span(values)));
    }

    void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) override {
        expects(batch.items <= shape_.most_items, "certifier: more items than it was made for");
        expects(in.size() == 2 && out.size() == 1, "certifier: takes items and guesses and makes results");
        expects(in[0].size() == batch.items * shape_.input_bytes && in[1].size() == batch.items * result_bytes(true) &&
                    out[0].size() == batch.items * result_bytes(shape_.scores),
                "certifier: input, guesses or output have the wrong size");
        if (batch.items != 0) {
            certify(as_cuda(stream), batch, in, out[0]);
        }
    }

    [[nodiscard]] std::uint64_t recomputed() const override { return recomputation_.total(); }

private:
    [[nodiscard]] std::uint32_t result_bytes(bool scores) const {
        return static_cast<std::uint32_t>(sizeof(std::int32_t) + (scores ? shape_.classes * sizeof(float) : 0));
    }

    void certify(CudaStream& stream, const Batch& batch, Inputs in, std::span<std::byte> out) {
        const Guesses guesses{.margin = margin_.as<float>().data(),
                              .results = reinterpret_cast<const std::int32_t*>(in[1].data()),
                              .classes = shape_.classes,
                              .scores = shape_.scores};
        recomputation_.enqueue(
            stream, batch, in[0], out,
            [&](const RecomputeSizes& sizes, const RecomputeMemory& memory, cudaStream_t handle) {
                enqueue_choose(sizes, memory, guesses, handle);
            },
            [&](Stream& of, std::size_t items, const std::uint32_t* active, std::span<const std::byte> from,
                std::span<std::byte> to) { exact_.forward_active(of, items, active, from, to); });
    }

    CertifyShape shape_;
    Model& exact_;
    Buffer margin_;
    Recomputation recomputation_;
};

}  // namespace

std::unique_ptr<Certifier> make_cuda_certifier(Device& device, const CertifyShape& shape, Model& exact) {
    return std::make_unique<CudaCertifier>(device, shape, exact);
}

}  // namespace sluice
