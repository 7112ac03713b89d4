#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/interface.hpp"

namespace sluice {

/// Writes results in item order; publish() makes the output appear under its name. Used by one thread at a time. File
/// system failures throw Error (io_error) with path, errno text and a hint.
class OutputWriter : public Interface {
public:
    /// Appends the outputs of the next `count` items, count * output_bytes long.
    virtual void append(std::uint32_t count, std::span<const std::byte> outputs) = 0;

    /// Makes everything appended so far durable, if this kind of output can.
    virtual void commit() {}

    /// Time until commit() is due; nullopt if nothing waits for it.
    [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> time_to_commit() const { return std::nullopt; }

    /// Call after the last item. Makes the output appear, complete and durable.
    virtual void publish() = 0;
};

}  // namespace sluice
