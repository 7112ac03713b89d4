#pragma once

#include <cstddef>
#include <span>

#include "core/device/host_stream.hpp"
#include "core/error.hpp"
#include "kernels/kernels.hpp"

namespace sluice {

/// An operation that is one call on the stream's worker.
class HostOperation : public Operation {
public:
    HostOperation(const IoShape& shape, std::uint32_t max_items) noexcept : shape_(shape), max_items_(max_items) {}

    void enqueue(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) final {
        expects(items <= max_items_, "operation: more items than it was made for");
        expects(in.size() == items * shape_.input_bytes && out.size() == items * shape_.output_bytes,
                "operation: input or output has the wrong size");
        if (items != 0) {
            as_host(stream).run([this, items, in, out] { run(items, in.data(), out.data()); });
        }
    }

private:
    virtual void run(std::size_t items, const std::byte* in, std::byte* out) = 0;

    IoShape shape_;
    std::size_t max_items_;
};

inline const float* as_floats(const std::byte* bytes) {
    return reinterpret_cast<const float*>(bytes);
}
inline float* as_floats(std::byte* bytes) {
    return reinterpret_cast<float*>(bytes);
}

/// Bytes of a tensor of fp32. The sizes are the program's own and small.
inline std::uint32_t float_bytes(std::uint32_t rows, std::uint32_t columns) {
    return static_cast<std::uint32_t>(sizeof(float)) * rows * columns;
}

}  // namespace sluice
