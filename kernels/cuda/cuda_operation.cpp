#include "kernels/cuda/cuda_operation.hpp"

#include <algorithm>
#include <utility>

#include "core/device/cuda_error.hpp"
#include "core/device/cuda_stream.hpp"
#include "core/error.hpp"

namespace sluice {

void CudaOperation::enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) {
    expects(batch.items <= most_items_, "operation: more items than it was made for");
    expects(in.size() == 1 && out.size() == 1, "operation: takes one tensor and makes one");
    expects(in[0].size() == batch.items * shape_.input_bytes && out[0].size() == batch.items * shape_.output_bytes,
            "operation: input or output has the wrong size");
    if (batch.items != 0) {
        launch(as_cuda(stream).handle(), static_cast<std::uint32_t>(batch.items), in[0].data(), out[0].data());
    }
}

void copy_now(std::span<std::byte> to, std::span<const std::byte> from) {
    expects(to.size() == from.size(), "copy_now: sizes differ");
    check_cuda(cudaMemcpy(to.data(), from.data(), from.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
    // cudaMemcpy may return before the last bytes have left its staging memory, and other streams do not wait for its
    // own.
    check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

CudaWeights::CudaWeights(PackedWeights& packed, std::size_t bytes, Make make)
    : CudaWeights(packed, bytes, bytes, [make = std::move(make)](std::uint32_t) { return make(); }) {}

CudaWeights::CudaWeights(PackedWeights& packed, std::size_t bytes, std::size_t piece_bytes, const MakePiece& make)
    : bytes_(bytes) {
    std::vector<PackedWeights::Part> parts;
    for (std::size_t at = 0; at < bytes; at += piece_bytes) {
        const auto piece = static_cast<std::uint32_t>(parts.size());
        parts.emplace_back([at, piece, size = std::min(piece_bytes, bytes - at), make](std::byte* room) {
            const std::vector<std::byte> made = make(piece);
            expects(made.size() == size, "weights: packed to another size than reserved");
            std::ranges::copy(made, room + at);
        });
    }
    room_ = packed.reserve(bytes, std::move(parts));
}

Buffer CudaWeights::on(Device& device) const {
    Buffer copy = device.allocate(MemorySpace::device, bytes_);
    copy_now(copy.bytes(), {room_.data(), bytes_});
    return copy;
}

}  // namespace sluice
