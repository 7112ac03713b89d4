#include <cuda_device_runtime_api.h>

#include <cstddef>

#include "core/device/cuda_error.hpp"
#include "core/device/cuda_loop.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

enum class Turn { first, next };

/// Only a kernel can say whether a graph's loop continues.
__global__ void decide(CudaLoop loop, Turn turn, cudaGraphConditionalHandle goes_on) {
    const std::uint32_t rounds = turn == Turn::first ? 0 : *loop.rounds + 1;
    *loop.rounds = rounds;
    cudaGraphSetConditional(goes_on, rounds < loop.most_rounds && *loop.more != 0 ? 1 : 0);
}

void enqueue_decision(const CudaLoop& loop, Turn turn, cudaGraphConditionalHandle goes_on, cudaStream_t stream) {
    cudaLaunchConfig_t one_thread{};
    one_thread.gridDim = dim3(1);
    one_thread.blockDim = dim3(1);
    one_thread.stream = stream;
    check_cuda(cudaLaunchKernelEx(&one_thread, &decide, loop, turn, goes_on), "loop");
}

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
    expects(capture.status == cudaStreamCaptureStatusActive, "a loop outside of a graph");
    return capture;
}

/// The graph of the rounds of a new loop, which the next thing on `stream` is to depend on.
struct While {
    cudaGraphNode_t node = nullptr;
    cudaGraph_t round = nullptr;
};

While add_while(cudaStream_t stream, cudaGraphConditionalHandle goes_on) {
    const Capture capture = capture_of(stream);
    cudaGraphNodeParams parameters{};
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.handle = goes_on;
    parameters.conditional.type = cudaGraphCondTypeWhile;
    parameters.conditional.size = 1;
    While added;
    check_cuda(cudaGraphAddNode(&added.node, capture.graph, capture.last, capture.edges, capture.count, &parameters),
               "cudaGraphAddNode");
    added.round = parameters.conditional.phGraph_out[0];
    return added;
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

void enqueue_loop(cudaStream_t stream, const CudaLoop& loop, cudaStream_t inner, FunctionRef<void()> body) {
    cudaGraphConditionalHandle goes_on{};
    check_cuda(cudaGraphConditionalHandleCreate(&goes_on, capture_of(stream).graph, 0, cudaGraphCondAssignDefault),
               "cudaGraphConditionalHandleCreate");
    enqueue_decision(loop, Turn::first, goes_on, stream);
    While added = add_while(stream, goes_on);
    const auto round = [&] {
        body();
        enqueue_decision(loop, Turn::next, goes_on, inner);
    };
    capture_to(added.round, inner, round);
    check_cuda(cudaStreamUpdateCaptureDependencies(stream, &added.node, nullptr, 1, cudaStreamSetCaptureDependencies),
               "cudaStreamUpdateCaptureDependencies");
}

}  // namespace sluice
