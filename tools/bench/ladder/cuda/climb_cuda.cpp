#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "tools/bench/ladder/cublas_peer.hpp"
#include "tools/bench/ladder/cuda/plain.hpp"
#include "tools/bench/ladder/cuda/rungs.hpp"
#include "tools/bench/ladder/ladder.hpp"
#include "tools/bench/ladder/windows.hpp"

namespace sluice::ladder {
namespace {

constexpr std::uint32_t side_in_fp32 = 4096;
constexpr std::uint32_t side_in_bf16 = 8192;

class Stream {
public:
    Stream() { check_cuda(cudaStreamCreate(&stream_), "cudaStreamCreate"); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { cudaStreamDestroy(stream_); }
    [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }

private:
    cudaStream_t stream_{};
};

/// Operands of one size and precision, in more sets than the second-level cache holds, and the library's product of
/// them.
class Bench {
public:
    Bench(const Size& size, Precision precision, cudaStream_t stream) : size_(size), precision_(precision) {
        const std::size_t element = number_bytes(precision);
        const std::size_t a = std::size_t{size.m} * size.k;
        const std::size_t b = std::size_t{size.n} * size.k;
        const std::size_t out = std::size_t{size.m} * size.n;
        const auto count = std::min(most_sets, more_than_cached / ((a + b + out) * element) + 1);
        for (std::size_t i = 0; i < count; ++i) {
            const auto seed = static_cast<std::uint32_t>(2 * i);
            memory_.push_back(std::make_unique<DeviceMemory>(a * element));
            fill_normal(memory_.back()->as(), a, precision, 1, seed);
            memory_.push_back(std::make_unique<DeviceMemory>(b * element));
            fill_normal(memory_.back()->as(), b, precision, 1 / std::sqrt(static_cast<float>(size.k)), seed + 1);
            memory_.push_back(std::make_unique<DeviceMemory>(out * element));
        }
        peer_.emplace(PeerShape{.m = size.m, .n = size.n, .k = size.k, .precision = precision}, peer_memory(0), stream);
        windows_.emplace(count, stream);
    }

    [[nodiscard]] bool is_for(const Size& size, Precision precision) const noexcept {
        return precision == precision_ && size.m == size_.m && size.n == size_.n && size.k == size_.k;
    }
    [[nodiscard]] int algorithms() const { return peer_->tried(); }

    /// Checks and times a rung, or without one only the library.
    void measure(const Rung* rung, const LadderOptions& options, cudaStream_t stream, RungResult& result) {
        const Product library = [&](std::size_t i, cudaStream_t s) { peer_->enqueue(peer_memory(i), s); };
        std::vector<MadeProduct> products;
        for (std::size_t i = 0; i < memory_.size() / 3 && rung != nullptr; ++i) {
            products.push_back(rung->make(size_, operands(i)));
        }
        const Product own = [&](std::size_t i, cudaStream_t s) { products[i].enqueue(s); };
        const Product& product = rung != nullptr ? own : library;
        memory_[2]->poison();
        product(0, stream);
        check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        result.error = error_beside_plain(size_, precision_, operands(0));
        if (rung != nullptr) {
            result.path = products.front().path;
            if (const std::optional<Operands>& rounded = products.front().rounded) {
                result.error_with_rounding = result.error;
                result.error = error_beside_plain(size_, precision_, *rounded);
            }
        }
        const double operations = 2.0 * size_.m * size_.n * size_.k / tera;
        const auto rate = [&](const Window& window, double single) {
            return Rate{.tflops = operations / window.seconds_per_call,
                        .single_tflops = operations / single,
                        .clock_mhz = window.clock_mhz,
                        .joules_per_tflop = window.joules_per_call ? std::optional(*window.joules_per_call / operations)
                                                                   : std::nullopt};
        };
        const double single = windows_->single_call(product);
        if (algorithms() == 0) {
            result.rate = rate(windows_->sustained(product, options.seconds), single);
            return;
        }
        const double library_single = windows_->single_call(library);
        const std::vector<Window> seen = windows_->in_turn({product, library}, options.seconds);
        result.rate = rate(seen[0], single);
        result.peer = rate(seen[1], library_single);
    }

private:
    static constexpr std::size_t most_sets = 8;
    static constexpr std::size_t more_than_cached = std::size_t{200} << 20U;

    [[nodiscard]] Operands operands(std::size_t i) const {
        return {memory_[3 * i]->as(), memory_[3 * i + 1]->as(), memory_[3 * i + 2]->as()};
    }
    [[nodiscard]] PeerMemory peer_memory(std::size_t i) const {
        const Operands of_set = operands(i);
        return {.a = of_set.a, .b = of_set.b, .bias = nullptr, .residual = nullptr, .out = of_set.out};
    }

    Size size_;
    Precision precision_;
    std::vector<std::unique_ptr<DeviceMemory>> memory_;  // a, b and out of each set
    std::optional<CublasPeer> peer_;
    std::optional<Windows> windows_;
};

Size size_of(const LadderOptions& options, Precision precision) {
    const std::uint32_t side = precision == Precision::fp32 ? side_in_fp32 : side_in_bf16;
    return {options.m.value_or(side), options.n.value_or(side), options.k.value_or(side)};
}

std::string why_not(const Rung& rung, const Size& size, const CudaDevice& device) {
    if (rung.hopper && device.instructions() != MatrixInstructions::wgmma) {
        return "needs a Hopper GPU, and a build with code for 90a";
    }
    const Size& by = rung.granularity;
    if (size.m % by.m != 0 || size.n % by.n != 0 || size.k % by.k != 0) {
        return fmt::format("m, n and k are not multiples of {}, {} and {}", by.m, by.n, by.k);
    }
    return {};
}

}  // namespace

bool has_cuda_ladder(std::string& why) {
    why = why_no_cuda();
    return cuda_device_count() > 0;
}

std::vector<std::uint32_t> cuda_rung_numbers() {
    std::vector<std::uint32_t> numbers{0};
    numbers.reserve(cuda_rungs().size() + 1);
    for (const Rung& rung : cuda_rungs()) {
        numbers.push_back(rung.number);
    }
    return numbers;
}

LadderResult climb_cuda(const LadderOptions& options, const Report& report) {
    const auto device = make_cuda_device(0);
    const CudaDevice& gpu = as_cuda(*device);
    const Stream stream;
    const auto wanted = [&](std::uint32_t number) {
        return options.rungs.empty() || std::ranges::find(options.rungs, number) != options.rungs.end();
    };
    LadderResult result{.device = cuda_device_model(0), .peer = "cuBLASLt, the fastest of its heuristics"};
    std::optional<Bench> bench;
    const auto climb = [&](std::uint32_t number, std::string_view name, Precision precision, const Rung* rung) {
        const Size size = size_of(options, precision);
        RungResult one{.number = number,
                       .name = std::string(name),
                       .precision = precision == Precision::bf16 ? "bf16" : "fp32",
                       .m = size.m,
                       .n = size.n,
                       .k = size.k};
        one.skipped = rung == nullptr ? std::string() : why_not(*rung, size, gpu);
        if (one.skipped.empty()) {
            if (!bench || !bench->is_for(size, precision)) {
                bench.reset();
                bench.emplace(size, precision, stream.get());
            }
            if (rung == nullptr && bench->algorithms() == 0) {
                one.skipped = "has no algorithm for this size";
            } else if (rung == nullptr) {
                one.name = fmt::format("cuBLASLt, of {}", bench->algorithms());
            }
            if (one.skipped.empty()) {
                bench->measure(rung, options, stream.get(), one);
            }
        }
        report(one);
        result.rungs.push_back(std::move(one));
    };
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
        if (wanted(0)) {
            climb(0, "cuBLASLt", precision, nullptr);
        }
        for (const Rung& rung : cuda_rungs()) {
            if (rung.precision == precision && wanted(rung.number)) {
                climb(rung.number, rung.name, precision, &rung);
            }
        }
    }
    return result;
}

}  // namespace sluice::ladder
