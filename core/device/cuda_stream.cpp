#include "core/device/cuda_stream.hpp"

#include <algorithm>
#include <typeinfo>

#include "core/device/cuda_error.hpp"
#include "core/device/cuda_loop.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::size_t most_launched_once = 16;

class CudaGraph final : public CapturedWork {
public:
    explicit CudaGraph(cudaGraphExec_t graph) noexcept : graph_(graph) {}
    ~CudaGraph() override { cudaGraphExecDestroy(graph_); }

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

std::unique_ptr<CapturedWork> make_graph(cudaStream_t stream, FunctionRef<void()> work) {
    cudaGraph_t graph = capture(stream, work);
    cudaGraphExec_t executable = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(status, "cudaGraphInstantiate");
    auto captured = std::make_unique<CudaGraph>(executable);
    check_cuda(cudaGraphUpload(executable, stream), "cudaGraphUpload");
    return captured;
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
    for (const LoopLevel& level : levels_) {
        cudaStreamDestroy(level.inner);
        cudaFree(level.rounds);
    }
}

void CudaStream::copy(std::span<std::byte> to, std::span<const std::byte> from) {
    expects(to.size() == from.size(), "CudaStream::copy: sizes differ");
    if (!to.empty()) {
        check_cuda(cudaMemcpyAsync(to.data(), from.data(), to.size(), cudaMemcpyDefault, handle()), "cudaMemcpyAsync");
    }
}

void CudaStream::wait(const Event& event) {
    if (event.source() == nullptr || event.source() == &events_) {
        return;
    }
    expects(depth_ == 0, "CudaStream: an event in a loop");
    expects(typeid(*event.source()) == typeid(CudaEvents), "CudaStream::wait: not an event of a CUDA stream");
    const auto& events = static_cast<const CudaEvents&>(*event.source());
    check_cuda(cudaStreamWaitEvent(stream_, events.event_of(event.ticket()), 0), "cudaStreamWaitEvent");
}

void CudaStream::launch(std::unique_ptr<CapturedWork>& captured, FunctionRef<void()> work) {
    capture(captured, work);
    check_cuda(cudaGraphLaunch(static_cast<const CudaGraph&>(*captured).graph(), stream_), "cudaGraphLaunch");
}

void CudaStream::capture(std::unique_ptr<CapturedWork>& captured, FunctionRef<void()> work) {
    if (captured == nullptr) {
        captured = make_graph(stream_, work);
    }
}

void CudaStream::loop(const std::uint32_t* more, std::uint32_t most_rounds, FunctionRef<void()> body) {
    const auto work = [&] { capture_loop(more, most_rounds, body); };
    if (is_capturing(handle())) {
        work();
    } else {
        launch_once(work);
    }
}

void CudaStream::capture_loop(const std::uint32_t* more, std::uint32_t most_rounds, FunctionRef<void()> body) {
    const cudaStream_t outer = handle();
    const LoopLevel level = next_level();
    const auto round = [&] {
        ++depth_;
        try {
            body();
        } catch (...) {  // thrown on
            --depth_;
            throw;
        }
        --depth_;
    };
    enqueue_loop(outer, {.more = more, .most_rounds = most_rounds, .rounds = level.rounds}, level.inner, round);
}

CudaStream::LoopLevel CudaStream::next_level() {
    if (depth_ == levels_.size()) {
        // A capture is under way, in which a thread may allocate only where it says that nothing can go wrong by it.
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
        check_cuda(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
        LoopLevel& level = levels_.emplace_back();  // in the list first: the destructor frees what is there
        cudaError_t status = cudaStreamCreateWithFlags(&level.inner, cudaStreamNonBlocking);
        void* rounds = nullptr;
        if (status == cudaSuccess) {
            status = cudaMalloc(&rounds, sizeof *level.rounds);
            level.rounds = static_cast<std::uint32_t*>(rounds);
        }
        check_cuda(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
        check_cuda(status, "loop: cudaStreamCreate or cudaMalloc");
    }
    return levels_[depth_];
}

/// The graph is kept until it has run, which is waited for when there are many.
void CudaStream::launch_once(FunctionRef<void()> work) {
    if (launched_once_.size() == most_launched_once) {
        check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
        launched_once_.clear();
    }
    std::unique_ptr<CapturedWork> captured;
    launch(captured, work);
    launched_once_.push_back(std::move(captured));
}

Event CudaStream::record() {
    expects(depth_ == 0, "CudaStream: an event in a loop");
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
