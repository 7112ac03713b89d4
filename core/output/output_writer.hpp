#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice {

/// Writes results in item order; the output appears under its name with publish(). One thread at a time. Every failure
/// of the file system throws Error (io_error) with path, errno text and what to do.
class OutputWriter {
public:
    OutputWriter() = default;
    OutputWriter(const OutputWriter&) = delete;
    OutputWriter& operator=(const OutputWriter&) = delete;
    virtual ~OutputWriter() = default;

    /// The outputs of the next `count` items, count * output_bytes long.
    virtual void append(std::uint32_t count, std::span<const std::byte> outputs) = 0;

    /// Makes what was appended so far outlive this process, if this output can.
    virtual void commit() {}

    /// How long until commit() is due; nullopt: nothing waits for it.
    [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> time_to_commit() const { return std::nullopt; }

    /// After the last item: makes the output appear, complete and durable.
    virtual void publish() = 0;
};

}  // namespace sluice
