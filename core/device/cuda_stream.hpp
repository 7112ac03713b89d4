#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "core/device.hpp"
#include "core/device/cuda_clock.hpp"

namespace sluice {

/// The events of one CUDA stream. Each ticket is a cudaEvent_t of a ring, used again when its ticket is `records` old.
class CudaEvents final : public EventSource {
public:
    /// `clock` outlives this.
    CudaEvents(CudaClock& clock, std::size_t records);
    ~CudaEvents() override;

    /// Records the next ticket behind what `stream` holds now.
    [[nodiscard]] std::uint64_t record(cudaStream_t stream);

    [[nodiscard]] cudaEvent_t event_of(std::uint64_t ticket) const;

    [[nodiscard]] bool reached(std::uint64_t ticket) const override;
    void wait_until_reached(std::uint64_t ticket) const override;
    [[nodiscard]] Instant reached_at(std::uint64_t ticket) const override;

private:
    CudaClock& clock_;
    std::vector<cudaEvent_t> ring_;
    std::uint64_t recorded_ = 0;
    mutable std::uint64_t reached_ = 0;  // the last one that is known to be over
};

/// A stream of the calling thread's GPU. Captured work is a CUDA graph.
class CudaStream final : public Stream {
public:
    /// `clock` outlives the stream.
    CudaStream(CudaClock& clock, const StreamOptions& options);
    ~CudaStream() override;

    void copy(std::span<std::byte> to, std::span<const std::byte> from) override;
    void wait(const Event& event) override;
    /// Part of a graph, of one of its own where nothing is being captured.
    void loop(const std::uint32_t* more, std::uint32_t most_rounds, FunctionRef<void()> body) override;
    void launch(std::unique_ptr<CapturedWork>& captured, FunctionRef<void()> work) override;
    void capture(std::unique_ptr<CapturedWork>& captured, FunctionRef<void()> work) override;
    [[nodiscard]] Event record() override;
    [[nodiscard]] Event mark() override;

    /// What work is enqueued on now: in a loop's body the stream that this is captured with. Not to be kept.
    [[nodiscard]] cudaStream_t handle() const noexcept { return depth_ == 0 ? stream_ : levels_[depth_ - 1].inner; }

private:
    /// What loops at one depth of nesting share: on a stream they follow each other.
    struct LoopLevel {
        cudaStream_t inner = nullptr;     // what rounds are captured with; nothing runs on it
        std::uint32_t* rounds = nullptr;  // device memory
    };

    void capture_loop(const std::uint32_t* more, std::uint32_t most_rounds, FunctionRef<void()> body);
    [[nodiscard]] LoopLevel next_level();
    void launch_once(FunctionRef<void()> work);

    cudaStream_t stream_ = nullptr;
    CudaEvents events_;
    std::vector<LoopLevel> levels_;
    std::size_t depth_ = 0;
    std::vector<std::unique_ptr<CapturedWork>> launched_once_;  // may still run
};

/// The CUDA stream behind `stream`. A CUDA kernel on another device's stream is a broken assumption.
[[nodiscard]] CudaStream& as_cuda(Stream& stream);

}  // namespace sluice
