#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <vector>

#include "core/device/cuda_error.hpp"
#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/plan/plan_memory.hpp"
#include "kernels/cuda/gemm/gemm.hpp"
#include "tools/bench/cuda_bench.hpp"
#include "tools/bench/decoder_bench.hpp"

namespace sluice::bench {
namespace {

class OverlapProbe {
public:
    OverlapProbe(CudaDevice& gpu, Precision precision)
        : precision_(precision),
          plan_(gpu, {.slots = texts, .rows = texts, .text_pages = 2, .pages = 2 * texts}),
          memory_(plan_.memory()),
          in_(std::span<const std::byte>(
              encode(precision, normal(std::size_t{2} * texts * small_gpt2.width, 0.5F, 3)))),
          matrix_(std::span<const std::byte>(
              encode(precision, normal(std::size_t{small_gpt2.inner} * small_gpt2.width, 0.04F, 4)))),
          out_(std::size_t{2} * texts * small_gpt2.inner * number_bytes(precision)),
          queries_(
              std::span<const std::byte>(encode(precision, normal(std::size_t{3} * texts * small_gpt2.width, 1, 5)))),
          cache_(std::size_t{2} * texts * decoder::page_positions * 2 * small_gpt2.width * number_bytes(precision)),
          mixed_(std::size_t{texts} * small_gpt2.width * number_bytes(precision)) {
        const std::vector<std::byte> some = encode(precision, normal(1'000'003, 1, 6));
        cache_.set(some);
        std::vector<decoder::Entry> entries(texts);
        std::vector<std::uint32_t> pages(std::size_t{2} * texts);
        for (std::uint32_t i = 0; i < texts; ++i) {
            entries[i] = {.slot = i, .first_row = i, .rows = 1, .first_position = positions - 1};
            pages[2 * i] = 2 * i;
            pages[2 * i + 1] = 2 * i + 1;
        }
        decoder::Batch batch;
        batch.entries = batch.continued = batch.rows = texts;
        const auto copy = [](void* to, const auto& from) {
            const auto bytes = std::as_bytes(std::span(from));
            check_cuda(cudaMemcpy(to, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
        };
        copy(memory_.entries, entries);
        copy(memory_.page_table, pages);
        copy(memory_.batch, std::array{batch});
        check_cuda(cudaStreamCreateWithFlags(&second_, cudaStreamNonBlocking), "cudaStreamCreate");
        for (cudaEvent_t& event : events_) {
            check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
        }
    }
    OverlapProbe(const OverlapProbe&) = delete;
    OverlapProbe& operator=(const OverlapProbe&) = delete;
    ~OverlapProbe() {
        for (const cudaEvent_t event : events_) {
            cudaEventDestroy(event);
        }
        cudaStreamDestroy(second_);
    }

    void print(cudaStream_t stream) {
        fmt::print(" products beside attention to a cache of {} positions, {} texts\n", positions, texts);
        for (const std::uint32_t for_attention : {0U, 8U, 12U, 16U, 24U}) {
            const Gemm product(
                {2 * texts, small_gpt2.inner, small_gpt2.width}, precision_,
                {.a = in_.as(), .b = matrix_.as(), .bias = nullptr, .residual = nullptr, .out = out_.as()},
                {.multiprocessors = 132 - for_attention});
            const auto products = [&](cudaStream_t s) {
                for (int i = 0; i < products_per_turn; ++i) {
                    product.enqueue(s);
                }
            };
            const auto attention = [&](cudaStream_t s) { attend(for_attention, s); };
            const auto both = [&](cudaStream_t s) {
                check_cuda(cudaEventRecord(events_[0], s), "cudaEventRecord");
                check_cuda(cudaStreamWaitEvent(second_, events_[0]), "cudaStreamWaitEvent");
                products(s);
                attention(second_);
                check_cuda(cudaEventRecord(events_[1], second_), "cudaEventRecord");
                check_cuda(cudaStreamWaitEvent(s, events_[1]), "cudaStreamWaitEvent");
            };
            const std::array<Launch, 3> launches{products, attention, both};
            const std::vector<Timing> times = time_in_turn(launches, stream, 2000, 5);
            fmt::print(
                "  {:3} multiprocessors for attention: {} products {:7.1f} us, attention {:7.1f} us, both {:7.1f} us\n",
                for_attention, products_per_turn, times[0].median_us, times[1].median_us, times[2].median_us);
        }
        std::fflush(stdout);
    }

private:
    static constexpr std::uint32_t texts = 8448;
    static constexpr std::uint32_t positions = 20;
    static constexpr int products_per_turn = 6;  // about as long as attention on a tenth of the GPU

    void attend(std::uint32_t multiprocessors, cudaStream_t stream) const {
        constexpr std::uint32_t head_size = small_gpt2.width / small_gpt2.heads;
        const decoder::Attention attention{.queries = queries_.as(),
                                           .out = mixed_.as(),
                                           .stride = 3 * small_gpt2.width,
                                           .out_stride = small_gpt2.width,
                                           .heads = small_gpt2.heads,
                                           .key_heads = small_gpt2.heads,
                                           .head_size = head_size,
                                           .positions = 32,
                                           .scale = 0.125F,
                                           .multiprocessors = multiprocessors};
        enqueue_cached_attention(memory_, precision_, attention,
                                 {.values = cache_.as(), .pages = 2 * texts, .width = small_gpt2.width}, 0,
                                 decoder::Attending::continued, stream);
    }

    Precision precision_;
    decoder::PlanMemory plan_;
    decoder::Memory memory_;
    DeviceMemory in_;
    DeviceMemory matrix_;
    DeviceMemory out_;
    DeviceMemory queries_;
    DeviceMemory cache_;
    DeviceMemory mixed_;
    cudaStream_t second_ = nullptr;
    std::array<cudaEvent_t, 2> events_{};
};

}  // namespace

void time_overlap(CudaDevice& gpu, CudaStream& stream, Precision precision) {
    OverlapProbe(gpu, precision).print(stream.handle());
}

}  // namespace sluice::bench
