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
          batch_out_(device.allocate(MemorySpace::device, std::size_t{shape.batch} * record_bytes(true))) {
        expects(shape.classes > 0 && shape.batch > 0, "certifier: no classes or no batch");
        expects(exact.shape().input_bytes == shape.input_bytes && exact.shape().output_bytes == record_bytes(true),
                "certifier: an exact model of another shape");
        set_margin({.offsets = std::vector<float>(shape.classes)});
        if (shape.chunk_items != nullptr) {
            const std::uint32_t all = shape.max_items;
            copy_now(std::as_writable_bytes(std::span(shape.chunk_items, 1)), std::as_bytes(std::span(&all, 1)));
        }
    }

    void set_margin(const Margin& margin) override {
        expects(margin.offsets.size() == shape_.classes, "certifier: a margin of other classes");
        std::vector<float> values = margin.offsets;
        values.insert(values.end(), {margin.bound, margin.usual});
        copy_now(margin_.bytes(), std::as_bytes(std::span(values)));
    }

    void enqueue(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<const std::byte> guesses,
                 std::span<std::byte> out) override {
        expects(items <= shape_.max_items, "certifier: more items than it was made for");
        expects(in.size() == items * shape_.input_bytes && guesses.size() == items * record_bytes(true) &&
                    out.size() == items * record_bytes(shape_.scores),
                "certifier: input, guesses or output have the wrong size");
        if (items != 0) {
            certify(as_cuda(stream), items, in, guesses, out);
        }
    }

    [[nodiscard]] std::uint64_t recomputed() const override {
        CertifyState state{};
        check_cuda(cudaMemcpy(&state, state_.bytes().data(), sizeof state, cudaMemcpyDeviceToHost), "cudaMemcpy");
        return state.total;
    }

private:
    [[nodiscard]] std::size_t record_bytes(bool scores) const {
        return sizeof(std::int32_t) + (scores ? shape_.classes * sizeof(float) : 0);
    }

    void certify(CudaStream& stream, std::size_t items, std::span<const std::byte> in,
                 std::span<const std::byte> guesses, std::span<std::byte> out) {
        const CertifySizes sizes{.items = static_cast<std::uint32_t>(items),
                                 .batch = shape_.batch,
                                 .input_bytes = shape_.input_bytes,
                                 .classes = shape_.classes,
                                 .scores = shape_.scores};
        const CertifyMemory memory{.margin = as<float>(margin_),
                                   .in = in.data(),
                                   .guesses = reinterpret_cast<const std::int32_t*>(guesses.data()),
                                   .out = reinterpret_cast<std::int32_t*>(out.data()),
                                   .chosen = as<std::uint32_t>(chosen_),
                                   .state = as<CertifyState>(state_),
                                   .batch_in = batch_in_.bytes().data(),
                                   .batch_out = as<std::int32_t>(batch_out_),
                                   .batch_items = shape_.batch_items,
                                   .chunk_items = shape_.chunk_items};
        enqueue_choose(sizes, memory, stream.handle());
        const auto compute_again = [&] {
            enqueue_gather(sizes, memory, stream.handle());
            exact_.forward(stream, shape_.batch, batch_in_.bytes(), batch_out_.bytes());
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
