#include "tools/runtime/compute_peak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/machine/provenance.hpp"
#include "kernels/kernels.hpp"
#include "tools/runtime/cost_cache.hpp"

namespace sluice {

namespace {

/// A product that fills a device: on a host it fits the caches, on a GPU it has many more tiles than multiprocessors.
struct PeakProduct {
    std::uint32_t items;
    std::uint32_t width;  ///< Inputs = outputs.
    int products;         ///< Timed together.
    int rounds;           ///< The first warm up.
};
constexpr PeakProduct host_product{.items = 256, .width = 1024, .products = 1, .rounds = 6};
constexpr PeakProduct gpu_product{.items = 4096, .width = 4096, .products = 8, .rounds = 12};

/// Linear congruential generator, Numerical Recipes 7.1; its upper bits are the more random ones.
class SomeBits {
public:
    [[nodiscard]] std::uint32_t next() { return state_ = state_ * 1664525U + 1013904223U; }

private:
    std::uint32_t state_ = 1;
};

std::vector<float> some_weights(std::size_t count) {
    std::vector<float> weights(count);
    SomeBits bits;
    std::ranges::generate(weights, [&] { return static_cast<float>(bits.next() >> 8U) / (1U << 24U) - 0.5F; });
    return weights;
}

/// Values of 0.5 to 1 and their negatives in the type that `kind` keeps activations in. Zeros would take less power,
/// and a GPU would be faster than with real data.
std::vector<std::byte> some_inputs(std::size_t bytes, DeviceKind kind, Precision precision) {
    const bool bf16 = kind == DeviceKind::cuda && precision == Precision::bf16;
    const bool half = bf16 || precision == Precision::fp16;
    const std::uint32_t exponent = bf16 ? 0x3F003F00U : half ? 0x38003800U : 0x3F000000U;
    const std::uint32_t mantissa = bf16 ? 0x007F007FU : half ? 0x03FF03FFU : 0x007FFFFFU;
    const std::uint32_t sign = half ? 0x80008000U : 0x80000000U;
    std::vector<std::byte> inputs(bytes);
    SomeBits bits;
    for (std::size_t at = 0; at + sizeof exponent <= bytes; at += sizeof exponent) {
        const std::uint32_t some = bits.next() ^ (bits.next() >> 16U);
        const std::uint32_t word = exponent | (some & (mantissa | sign));
        std::memcpy(&inputs[at], &word, sizeof word);
    }
    return inputs;
}

}  // namespace

double measure_peak(Device& device, DeviceKind kind, Precision precision) {
    const PeakProduct& sizes = kind == DeviceKind::host ? host_product : gpu_product;
    const std::vector<float> weights = some_weights(std::size_t{sizes.width} * sizes.width);
    const std::vector<float> bias(sizes.width, 0.0F);
    PackedWeights packed;
    const auto layer = kernels_of(kind, precision)
                           .dense.linear({.inputs = sizes.width, .outputs = sizes.width}, weights, bias, packed);
    packed.pack(NodeMemory::of_process(packed.bytes()), {}, 1);
    const Buffer in = device.allocate(MemorySpace::device, std::size_t{sizes.items} * layer->shape().input_bytes);
    const Buffer out = device.allocate(MemorySpace::device, std::size_t{sizes.items} * layer->shape().output_bytes);
    const auto operation = layer->make_operation(device, sizes.items);
    const auto stream = device.make_stream({});
    const std::vector<std::byte> inputs = some_inputs(in.bytes().size(), kind, precision);
    stream->copy(in.bytes(), inputs);
    stream->record().wait();
    double best = 0;
    for (int round = 0; round < sizes.rounds; ++round) {
        const Event begin = stream->record();
        for (int i = 0; i < sizes.products; ++i) {
            operation->enqueue(*stream, {.items = sizes.items}, in.bytes(), out.bytes());
        }
        const Event end = stream->record();
        end.wait();
        const double seconds = Seconds(end.completed_at() - begin.completed_at()).count();
        best = std::max(best, 2.0 * sizes.products * sizes.items * sizes.width * sizes.width / seconds);
    }
    return best;
}

std::string key_of_host_peak(HostInstructions instructions) {
    return fmt::format("host | {} | {}", cpu_model(), name_of(instructions));
}

std::string key_of_gpu_peak(std::string_view kind, Precision precision) {
    return fmt::format("{} | {}", kind, name_of(precision));
}

void set_peak(Roofline& roofline, const PeakSearch& search) {
    if (search.file) {
        if (const auto kept = find_peak(*search.file, search.key)) {
            roofline.peak = *kept / search.products;
            return;
        }
    }
    if (!search.may_measure) {
        roofline.note = "what the device can was not measured yet: a run of ten seconds does";
        return;
    }
    double measured = 0;
    try {
        measured = search.measure();
    } catch (const Error& error) {
        roofline.note = "what the device can could not be measured: " + error.text().what;
        return;
    }
    roofline.peak = measured / search.products;
    if (search.file) {
        static_cast<void>(keep_peak(*search.file, search.key, measured));  // measured again next time
    }
}

}  // namespace sluice
