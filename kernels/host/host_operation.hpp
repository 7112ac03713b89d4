#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "core/device/host_stream.hpp"
#include "core/error.hpp"
#include "kernels/operation.hpp"

namespace sluice {

/// Number of active items. Call on the stream's worker.
[[nodiscard]] inline std::size_t active_items(const Batch& batch) {
    return batch.active == nullptr ? batch.items : std::min<std::size_t>(batch.items, *batch.active);
}

/// An operation with one input and one output tensor that is one call on the stream's worker. Outputs of inactive items
/// stay unchanged.
class HostOperation : public Operation {
public:
    HostOperation(const IoShape& shape, std::uint32_t most_items) noexcept : shape_(shape), most_items_(most_items) {}

    using Operation::enqueue;
    void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) final {
        expects(batch.items <= most_items_, "operation: more items than it was made for");
        expects(in.size() == 1 && out.size() == 1, "operation: takes one tensor and makes one");
        expects(in[0].size() == batch.items * shape_.input_bytes && out[0].size() == batch.items * shape_.output_bytes,
                "operation: input or output has the wrong size");
        if (batch.items != 0) {
            as_host(stream).run([this, batch, from = in[0].data(), to = out[0].data()] {
                if (const std::size_t items = active_items(batch); items != 0) {
                    run(items, from, to);
                }
            });
        }
    }

private:
    virtual void run(std::size_t items, const std::byte* in, std::byte* out) = 0;

    IoShape shape_;
    std::size_t most_items_;
};

inline const float* as_floats(const std::byte* bytes) {
    return reinterpret_cast<const float*>(bytes);
}
inline float* as_floats(std::byte* bytes) {
    return reinterpret_cast<float*>(bytes);
}

/// Bytes of an fp32 tensor, without an overflow check: sizes are the program's own and small.
inline std::uint32_t float_bytes(std::uint32_t rows, std::uint32_t columns) {
    return static_cast<std::uint32_t>(sizeof(float)) * rows * columns;
}

}  // namespace sluice
