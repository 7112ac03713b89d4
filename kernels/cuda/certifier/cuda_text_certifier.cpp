#include <cstddef>
#include <memory>
#include <span>

#include "core/device/cuda_error.hpp"
#include "core/device/cuda_stream.hpp"
#include "core/error.hpp"
#include "kernels/cuda/certifier/certify_texts.hpp"
#include "kernels/cuda/cuda_layers.hpp"
#include "kernels/cuda/cuda_operation.hpp"

namespace sluice {
namespace {

class CudaTextCertifier final : public TextCertifier {
public:
    CudaTextCertifier(Device& device, const TextCertifierShape& shape, TextWriter& exact)
        : shape_(shape),
          io_(io_of(shape.form)),
          exact_(exact),
          bounds_(device.allocate(MemorySpace::device, sizeof(TextDoubt))),
          retracted_(device.allocate(MemorySpace::device, sizeof(TextCounts))),
          recomputation_(device, {.items = shape.most_items,
                                  .batch = shape.batch,
                                  .input_bytes = io_.input_bytes,
                                  .exact_bytes = io_.output_bytes,
                                  .result_bytes = io_.output_bytes}) {
        set_bounds({});
    }

    void set_bounds(const TextDoubt& bounds) override {
        copy_now(bounds_.bytes(), std::as_bytes(std::span(&bounds, 1)));
    }

    using Operation::enqueue;
    void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) override {
        expects(batch.items <= shape_.most_items, "certifier: more items than it was made for");
        expects(in.size() == 2 && out.size() == 1, "certifier: takes items and doubts and makes results");
        expects(in[0].size() == batch.items * io_.input_bytes && in[1].size() == batch.items * sizeof(TextDoubt) &&
                    out[0].size() == batch.items * io_.output_bytes,
                "certifier: input, doubts or output have the wrong size");
        if (batch.items == 0) {
            return;
        }
        const DoubtfulTexts texts{.bounds = bounds_.as<TextDoubt>().data(),
                                  .doubts = reinterpret_cast<const TextDoubt*>(in[1].data()),
                                  .retracted = retracted_.as<TextCounts>().data()};
        recomputation_.enqueue(
            as_cuda(stream), batch, in[0], out[0],
            [&](const RecomputeSizes& sizes, const RecomputeMemory& memory, cudaStream_t handle) {
                enqueue_choose_texts(sizes, memory, texts, shape_.form, handle);
            },
            [&](Stream& of, std::size_t items, const std::uint32_t* active, std::span<const std::byte> from,
                std::span<std::byte> to) { exact_.enqueue(of, {.items = items, .active = active}, from, to); });
    }

    [[nodiscard]] std::uint64_t recomputed() const override { return recomputation_.total(); }

    [[nodiscard]] TextCounts retracted() const override {
        TextCounts counts;
        check_cuda(cudaMemcpy(&counts, retracted_.bytes().data(), sizeof counts, cudaMemcpyDeviceToHost), "cudaMemcpy");
        return counts;
    }

private:
    TextCertifierShape shape_;
    IoShape io_;
    TextWriter& exact_;
    Buffer bounds_;
    Buffer retracted_;
    Recomputation recomputation_;
};

}  // namespace

std::unique_ptr<TextCertifier> make_cuda_text_certifier(Device& device, const TextCertifierShape& shape,
                                                        TextWriter& exact) {
    return std::make_unique<CudaTextCertifier>(device, shape, exact);
}

}  // namespace sluice
