#include "kernels/cuda/device_loop.hpp"

#include "core/device/cuda_error.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

struct Capture {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
    const cudaGraphNode_t* last = nullptr;  // what the stream's next node depends on
    const cudaGraphEdgeData* edges = nullptr;
    std::size_t count = 0;
};

Capture capture_of(cudaStream_t stream) {
    Capture capture;
    check_cuda(cudaStreamGetCaptureInfo(stream, &capture.status, nullptr, &capture.graph, &capture.last, &capture.edges,
                                        &capture.count),
               "cudaStreamGetCaptureInfo");
    expects(capture.status == cudaStreamCaptureStatusActive, "a device loop outside of a recording");
    return capture;
}

void capture_to(cudaGraph_t graph, cudaStream_t stream, FunctionRef<void()> body) {
    check_cuda(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCaptureToGraph");
    try {
        body();
    } catch (...) {  // thrown on: the capture must not stay open
        cudaStreamEndCapture(stream, &graph);
        throw;
    }
    check_cuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
}

}  // namespace

bool is_capturing(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check_cuda(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
    return status == cudaStreamCaptureStatusActive;
}

cudaGraphConditionalHandle make_condition(cudaStream_t stream) {
    cudaGraphConditionalHandle condition{};
    check_cuda(cudaGraphConditionalHandleCreate(&condition, capture_of(stream).graph, 0, cudaGraphCondAssignDefault),
               "cudaGraphConditionalHandleCreate");
    return condition;
}

void enqueue_while(cudaStream_t stream, cudaGraphConditionalHandle condition, cudaStream_t inner,
                   FunctionRef<void()> body) {
    const Capture capture = capture_of(stream);
    cudaGraphNodeParams parameters{};
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.handle = condition;
    parameters.conditional.type = cudaGraphCondTypeWhile;
    parameters.conditional.size = 1;
    cudaGraphNode_t node = nullptr;
    check_cuda(cudaGraphAddNode(&node, capture.graph, capture.last, capture.edges, capture.count, &parameters),
               "cudaGraphAddNode");
    capture_to(parameters.conditional.phGraph_out[0], inner, body);
    check_cuda(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies),
               "cudaStreamUpdateCaptureDependencies");
}

}  // namespace sluice
