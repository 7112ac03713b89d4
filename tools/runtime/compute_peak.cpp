#include "tools/runtime/compute_peak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/clock.hpp"
#include "core/device/host_device.hpp"
#include "core/machine/provenance.hpp"
#include "kernels/kernels.hpp"
#include "tools/runtime/cost_cache.hpp"

namespace sluice {

double measure_host_peak() {
    constexpr std::uint32_t items = 256;
    constexpr std::uint32_t width = 1024;
    constexpr int rounds = 6;  // of some milliseconds; the first one warms up
    const std::vector<float> weights(std::size_t{width} * width, 0.01F);
    const std::vector<float> bias(width, 0.0F);
    PackedWeights packed;
    const auto layer =
        kernels_of(DeviceKind::host).dense.linear({.inputs = width, .outputs = width}, weights, bias, packed);
    packed.pack(NodeMemory::of_process(packed.bytes()), {}, 1);
    HostDevice device;
    Buffer in = device.allocate(MemorySpace::device, std::size_t{items} * layer->shape().input_bytes);
    Buffer out = device.allocate(MemorySpace::device, std::size_t{items} * layer->shape().output_bytes);
    std::ranges::fill(in.bytes(), std::byte{0});
    const auto operation = layer->make_operation(device, items);
    const auto stream = device.make_stream({});
    double best = 0;
    for (int round = 0; round < rounds; ++round) {
        const Event begin = stream->record();
        operation->enqueue(*stream, {.items = items}, in.bytes(), out.bytes());
        const Event end = stream->record();
        end.wait();
        const double seconds = Seconds(end.completed_at() - begin.completed_at()).count();
        best = std::max(best, 2.0 * items * width * width / seconds);
    }
    return best;
}

std::string key_of_host_peak(HostInstructions instructions) {
    return fmt::format("host | {} | {}", cpu_model(), name_of(instructions));
}

void find_peak(Roofline& roofline, const PeakSearch& search) {
    if (search.file) {
        if (const auto kept = find_peak(*search.file, search.key)) {
            roofline.peak = kept;
            return;
        }
    }
    if (!search.may_measure) {
        roofline.note = "what the device can was not measured yet: a run of ten seconds does";
        return;
    }
    roofline.peak = search.measure();
    if (search.file) {
        static_cast<void>(keep_peak(*search.file, search.key, *roofline.peak));  // measured again next time
    }
}

}  // namespace sluice
