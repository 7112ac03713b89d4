#include "core/device/cuda_stream.hpp"

#include <algorithm>
#include <typeinfo>

#include "core/device/cuda_error.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

class CudaRecording final : public Recording {
public:
    explicit CudaRecording(cudaGraphExec_t graph) noexcept : graph_(graph) {}
    ~CudaRecording() override { cudaGraphExecDestroy(graph_); }

    [[nodiscard]] cudaGraphExec_t graph() const noexcept { return graph_; }

private:
    cudaGraphExec_t graph_;
};

/// What `work` enqueues on `stream`, not run.
cudaGraph_t capture(cudaStream_t stream, FunctionRef<void()> work) {
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
        work();
    } catch (...) {  // thrown on: the capture must not stay open
        cudaStreamEndCapture(stream, &graph);
        cudaGraphDestroy(graph);
        throw;
    }
    check_cuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    return graph;
}

std::unique_ptr<Recording> make_recording(cudaStream_t stream, FunctionRef<void()> work) {
    cudaGraph_t graph = capture(stream, work);
    cudaGraphExec_t executable = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(status, "cudaGraphInstantiate");
    auto recording = std::make_unique<CudaRecording>(executable);
    check_cuda(cudaGraphUpload(executable, stream), "cudaGraphUpload");
    return recording;
}

}  // namespace

CudaEvents::CudaEvents(CudaClock& clock, std::size_t records) : clock_(clock), ring_(records) {
    for (cudaEvent_t& event : ring_) {
        check_cuda(cudaEventCreate(&event), "cudaEventCreate");
    }
}

CudaEvents::~CudaEvents() {
    for (const cudaEvent_t event : ring_) {
        cudaEventDestroy(event);
    }
}

std::uint64_t CudaEvents::record(cudaStream_t stream) {
    const std::uint64_t ticket = recorded_ + 1;
    check_cuda(cudaEventRecord(ring_[ticket % ring_.size()], stream), "cudaEventRecord");
    return recorded_ = ticket;
}

cudaEvent_t CudaEvents::event_of(std::uint64_t ticket) const {
    expects(ticket != 0 && ticket <= recorded_ && recorded_ - ticket < ring_.size(),
            "a CUDA event that was not recorded, or too long ago");
    return ring_[ticket % ring_.size()];
}

bool CudaEvents::reached(std::uint64_t ticket) const {
    if (ticket <= reached_) {
        return true;
    }
    const cudaError_t status = cudaEventQuery(event_of(ticket));
    if (status == cudaErrorNotReady) {
        return false;
    }
    check_cuda(status, "cudaEventQuery");
    reached_ = ticket;
    return true;
}

void CudaEvents::wait_until_reached(std::uint64_t ticket) const {
    if (ticket > reached_) {
        check_cuda(cudaEventSynchronize(event_of(ticket)), "cudaEventSynchronize");
        reached_ = ticket;
    }
}

Instant CudaEvents::reached_at(std::uint64_t ticket) const {
    return std::min(clock_.time_of(event_of(ticket)), Clock::now());  // the clocks agree to some us only
}

CudaStream::CudaStream(CudaClock& clock, const StreamOptions& options) : events_(clock, options.records) {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
}

CudaStream::~CudaStream() {
    cudaStreamSynchronize(stream_);  // nothing enqueued may outlive its buffers; its failure was seen by who waited
    cudaStreamDestroy(stream_);
}

void CudaStream::copy(std::span<std::byte> to, std::span<const std::byte> from) {
    expects(to.size() == from.size(), "CudaStream::copy: sizes differ");
    if (!to.empty()) {
        check_cuda(cudaMemcpyAsync(to.data(), from.data(), to.size(), cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
    }
}

void CudaStream::wait(const Event& event) {
    if (event.source() == nullptr || event.source() == &events_) {
        return;
    }
    expects(typeid(*event.source()) == typeid(CudaEvents), "CudaStream::wait: not an event of a CUDA stream");
    const auto& events = static_cast<const CudaEvents&>(*event.source());
    check_cuda(cudaStreamWaitEvent(stream_, events.event_of(event.ticket()), 0), "cudaStreamWaitEvent");
}

void CudaStream::repeat(std::unique_ptr<Recording>& recording, FunctionRef<void()> work) {
    prepare(recording, work);
    check_cuda(cudaGraphLaunch(static_cast<const CudaRecording&>(*recording).graph(), stream_), "cudaGraphLaunch");
}

void CudaStream::prepare(std::unique_ptr<Recording>& recording, FunctionRef<void()> work) {
    if (recording == nullptr) {
        recording = make_recording(stream_, work);
    }
}

Event CudaStream::record() {
    return {events_, events_.record(stream_)};
}

Event CudaStream::mark() {
    return record();
}

CudaStream& as_cuda(Stream& stream) {
    expects(typeid(stream) == typeid(CudaStream), "a CUDA kernel was given another device's stream");
    return static_cast<CudaStream&>(stream);
}

}  // namespace sluice
