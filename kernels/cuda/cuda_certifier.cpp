#include <cstddef>
#include <memory>
#include <vector>

#include "core/device/cuda_error.hpp"
#include "core/device/cuda_stream.hpp"
#include "core/error.hpp"
#include "kernels/cuda/certify.hpp"
#include "kernels/cuda/cuda_layers.hpp"
#include "kernels/cuda/cuda_operation.hpp"

namespace sluice {
namespace {

template <class T>
T* as(const Buffer& buffer) {
    return reinterpret_cast<T*>(buffer.bytes().data());
}

class CudaCertifier final : public Certifier {
public:
    CudaCertifier(Device& device, const CertifyShape& shape, Model& exact)
        : shape_(shape),
          exact_(exact),
          margin_(device.allocate(MemorySpace::device, (2 + shape.classes) * sizeof(float))),
          chosen_(device.allocate(MemorySpace::device, shape.max_items * sizeof(std::uint32_t))),
          state_(device.allocate(MemorySpace::device, sizeof(CertifyState))),
          batch_in_(device.allocate(MemorySpace::device, std::size_t{shape.batch} * shape.input_bytes)),
          batch_out_(device.allocate(MemorySpace::device, std::size_t{shape.batch} * result_bytes(true))) {
        expects(shape.classes > 0 && shape.batch > 0, "certifier: no classes or no batch");
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
        expects(batch.items <= shape_.max_items, "certifier: more items than it was made for");
        expects(in.size() == 2 && out.size() == 1, "certifier: takes items and guesses and makes results");
        expects(in[0].size() == batch.items * shape_.input_bytes && in[1].size() == batch.items * result_bytes(true) &&
                    out[0].size() == batch.items * result_bytes(shape_.scores),
                "certifier: input, guesses or output have the wrong size");
        if (batch.items != 0) {
            certify(as_cuda(stream), batch, in, out[0]);
        }
    }

    [[nodiscard]] std::uint64_t recomputed() const override {
        CertifyState state{};
        check_cuda(cudaMemcpy(&state, state_.bytes().data(), sizeof state, cudaMemcpyDeviceToHost), "cudaMemcpy");
        return state.total;
    }

private:
    [[nodiscard]] std::size_t result_bytes(bool scores) const {
        return sizeof(std::int32_t) + (scores ? shape_.classes * sizeof(float) : 0);
    }

    void certify(CudaStream& stream, const Batch& batch, Inputs in, std::span<std::byte> out) {
        const CertifySizes sizes{.items = static_cast<std::uint32_t>(batch.items),
                                 .batch = shape_.batch,
                                 .input_bytes = shape_.input_bytes,
                                 .classes = shape_.classes,
                                 .scores = shape_.scores};
        const CertifyMemory memory{.margin = as<float>(margin_),
                                   .in = in[0].data(),
                                   .guesses = reinterpret_cast<const std::int32_t*>(in[1].data()),
                                   .out = reinterpret_cast<std::int32_t*>(out.data()),
                                   .chosen = as<std::uint32_t>(chosen_),
                                   .state = as<CertifyState>(state_),
                                   .batch_in = batch_in_.bytes().data(),
                                   .batch_out = as<std::int32_t>(batch_out_),
                                   .active = batch.active};
        enqueue_choose(sizes, memory, stream.handle());
        const auto compute_again = [&] {
            enqueue_gather(sizes, memory, stream.handle());
            exact_.forward_active(stream, shape_.batch, &memory.state->active, batch_in_.bytes(), batch_out_.bytes());
            enqueue_merge(sizes, memory, stream.handle());
        };
        stream.loop(&memory.state->more, (sizes.items + sizes.batch - 1) / sizes.batch, compute_again);
    }

    CertifyShape shape_;
    Model& exact_;
    Buffer margin_;
    Buffer chosen_;
    Buffer state_;
    Buffer batch_in_;
    Buffer batch_out_;
};

}  // namespace

std::unique_ptr<Certifier> make_cuda_certifier(Device& device, const CertifyShape& shape, Model& exact) {
    return std::make_unique<CudaCertifier>(device, shape, exact);
}

}  // namespace sluice
