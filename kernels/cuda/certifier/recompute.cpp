#include "kernels/cuda/certifier/recompute.hpp"

#include <span>

#include "core/device/cuda_error.hpp"
#include "core/device/cuda_stream.hpp"
#include "core/error.hpp"

namespace sluice {

Recomputation::Recomputation(Device& device, const RecomputeSizes& sizes)
    : sizes_(sizes),
      chosen_(device.allocate(MemorySpace::device, sizes.items * sizeof(std::uint32_t))),
      state_(device.allocate(MemorySpace::device, sizeof(RecomputeState))),
      batch_in_(device.allocate(MemorySpace::device, std::size_t{sizes.batch} * sizes.input_bytes)),
      batch_out_(device.allocate(MemorySpace::device, std::size_t{sizes.batch} * sizes.exact_bytes)) {
    expects(sizes.batch > 0, "certifier: an exact model of no items");
    expects(sizes.exact_bytes % 4 == 0 && sizes.result_bytes % 4 == 0 && sizes.result_bytes <= sizes.exact_bytes,
            "certifier: results of whole words, that an exact one begins with");
}

void Recomputation::enqueue(CudaStream& stream, const Batch& batch, std::span<const std::byte> in,
                            std::span<std::byte> out, const Choose& choose, const Exact& exact) const {
    RecomputeSizes sizes = sizes_;
    sizes.items = static_cast<std::uint32_t>(batch.items);
    const RecomputeMemory memory{.in = in.data(),
                                 .out = out.data(),
                                 .chosen = chosen_.as<std::uint32_t>().data(),
                                 .state = state_.as<RecomputeState>().data(),
                                 .batch_in = batch_in_.bytes().data(),
                                 .batch_out = batch_out_.bytes().data(),
                                 .active = batch.active};
    choose(sizes, memory, stream.handle());
    const auto compute_again = [&] {
        enqueue_gather(sizes, memory, stream.handle());
        exact(stream, sizes.batch, &memory.state->active, batch_in_.bytes(), batch_out_.bytes());
        enqueue_merge(sizes, memory, stream.handle());
    };
    stream.loop(&memory.state->more, (sizes.items + sizes.batch - 1) / sizes.batch, compute_again);
}

std::uint64_t Recomputation::total() const {
    RecomputeState state{};
    check_cuda(cudaMemcpy(&state, state_.bytes().data(), sizeof state, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return state.total;
}

}  // namespace sluice
