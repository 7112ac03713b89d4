#include <cuda_runtime_api.h>

#include <algorithm>

#include "core/device/cuda_error.hpp"
#include "core/device/cuda_stream.hpp"
#include "tests/e2e/babble_model.hpp"

namespace sluice::test {
namespace {

constexpr std::uint32_t row_count = 32;  // a warp's threads: they vote on which rows are free
constexpr std::uint32_t every_row = 0xFFFFFFFF;
constexpr std::uint32_t most_held = babble_lag + 1;

struct HeldChunk {
    const BabbleItem* in = nullptr;
    BabbleRecord* out = nullptr;
    std::uint32_t items = 0;  // 0: none
    std::uint32_t taken = 0;
    std::uint32_t done = 0;
};

struct Row {
    std::uint32_t busy;
    std::uint32_t chunk;  // its place in Batch::held
    std::uint32_t place;  // in its chunk
    BabbleItem text;
};

/// All that changes from chunk to chunk and from step to step. Of zeros: nothing is held, every row is free.
struct Batch {
    HeldChunk held[most_held];  // a ring, oldest at `first`
    std::uint32_t first;
    std::uint32_t count;
    std::uint32_t may_stay;  // held chunks, when the loop is over
    std::uint32_t more;      // whether it needs another round
    std::uint32_t active;    // rows with a text, named in active_rows
    std::uint32_t active_rows[row_count];
    Row rows[row_count];
};

__device__ bool is_more(const Batch& batch) {
    return batch.count > batch.may_stay;
}

__global__ void hold(Batch* batch, HeldChunk chunk, std::uint32_t may_stay) {
    if (chunk.items != 0) {
        batch->held[(batch->first + batch->count++) % most_held] = chunk;
    }
    batch->may_stay = may_stay;
    batch->more = is_more(*batch) ? 1 : 0;
}

/// The nth free row takes the nth item that none has taken.
__global__ void refill(Batch* batch) {
    Row& row = batch->rows[threadIdx.x];
    const std::uint32_t rows_before = (1U << threadIdx.x) - 1;
    const std::uint32_t vacant = __ballot_sync(every_row, row.busy == 0);
    const std::uint32_t nth = __popc(vacant & rows_before);
    std::uint32_t passed = 0;
    for (std::uint32_t i = 0; i < batch->count; ++i) {
        const std::uint32_t chunk = (batch->first + i) % most_held;
        const HeldChunk& held = batch->held[chunk];
        const std::uint32_t left = held.items - held.taken;
        if (row.busy == 0 && nth >= passed && nth - passed < left) {
            const std::uint32_t place = held.taken + nth - passed;
            row = {.busy = 1, .chunk = chunk, .place = place, .text = held.in[place]};
        }
        passed += left;
    }
    const std::uint32_t busy = __ballot_sync(every_row, row.busy != 0);  // by now all have read what was taken
    if (row.busy != 0) {
        batch->active_rows[__popc(busy & rows_before)] = threadIdx.x;
    }
    if (threadIdx.x == 0) {
        batch->active = __popc(busy);
        std::uint32_t newly = __popc(busy & vacant);
        for (std::uint32_t i = 0; i < batch->count; ++i) {
            HeldChunk& held = batch->held[(batch->first + i) % most_held];
            const std::uint32_t here = min(newly, held.items - held.taken);
            held.taken += here;
            newly -= here;
        }
    }
}

__global__ void step(Batch* batch, BabbleOptions options) {
    if (threadIdx.x >= batch->active) {
        return;
    }
    Row& row = batch->rows[batch->active_rows[threadIdx.x]];
    const std::uint32_t letter = next_letter(options, row.text.number, row.text.length);
    if (letter != babble_letters) {
        row.text.letters[row.text.length++] = static_cast<std::uint8_t>(letter);
        return;
    }
    if (row.text.number == options.deadly) {
        __trap();
    }
    HeldChunk& held = batch->held[row.chunk];
    BabbleRecord& record = held.out[row.place];
    record.length = row.text.length;
    for (std::uint32_t i = 0; i < longest_babble; ++i) {
        record.letters[i] = row.text.letters[i];
    }
    atomicAdd(&held.done, 1U);
    row.busy = 0;
}

__global__ void let_go(Batch* batch) {
    while (batch->count != 0 && batch->held[batch->first].done == batch->held[batch->first].items) {
        batch->first = (batch->first + 1) % most_held;
        --batch->count;
    }
    batch->more = is_more(*batch) ? 1 : 0;
}

/// The loop's bound is none of the model's: to end there would leave texts unwritten.
__global__ void expect_no_more(const Batch* batch) {
    if (batch->more != 0) {
        __trap();
    }
}

class CudaBabble final : public Model {
public:
    CudaBabble(const BabbleOptions& options, Device& device, const ModelRoom& room)
        : options_(options),
          most_items_(room.most_items),
          batch_(device.allocate(MemorySpace::device, sizeof(Batch))) {}

    [[nodiscard]] IoShape shape() const noexcept override { return babble_shape; }
    [[nodiscard]] std::uint32_t lag() const noexcept override { return babble_lag; }
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override {
        enqueue(stream,
                {.in = reinterpret_cast<const BabbleItem*>(in.data()),
                 .out = reinterpret_cast<BabbleRecord*>(out.data()),
                 .items = static_cast<std::uint32_t>(items)},
                babble_lag);
    }
    void finish(Stream& stream) override { enqueue(stream, {}, 0); }

private:
    void enqueue(Stream& stream, const HeldChunk& chunk, std::uint32_t may_stay) {
        Batch* const batch = batch_.as<Batch>().data();
        const CudaStream& cuda = as_cuda(stream);
        hold<<<1, 1, 0, cuda.handle()>>>(batch, chunk, may_stay);
        check_cuda(cudaGetLastError(), "hold");
        const auto round = [&] {
            refill<<<1, row_count, 0, cuda.handle()>>>(batch);
            step<<<1, row_count, 0, cuda.handle()>>>(batch, options_);
            let_go<<<1, 1, 0, cuda.handle()>>>(batch);
            check_cuda(cudaGetLastError(), "a step");
        };
        stream.loop(&batch->more, most_rounds(), round);
        expect_no_more<<<1, 1, 0, cuda.handle()>>>(batch);
        check_cuda(cudaGetLastError(), "expect no more");
    }

    /// As if there were only one row.
    [[nodiscard]] std::uint32_t most_rounds() const {
        const std::uint64_t rounds = std::uint64_t{most_held} * most_items_ * (longest_babble + 1);
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(rounds, UINT32_MAX));
    }

    BabbleOptions options_;
    std::uint32_t most_items_;
    Buffer batch_;
};

}  // namespace

std::unique_ptr<Model> make_cuda_babble(const BabbleOptions& options, Device& device, const ModelRoom& room) {
    return std::make_unique<CudaBabble>(options, device, room);
}

}  // namespace sluice::test
