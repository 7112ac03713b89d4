#include <fmt/format.h>

#include <cmath>
#include <future>

#include "tools/bench/bench_kernels.hpp"
#include "tools/bench/classifier_on_gpu.hpp"

namespace sluice::bench {
namespace {

std::vector<std::uint8_t> random_symbols(std::size_t items) {
    std::mt19937 engine(1);
    std::vector<std::uint8_t> symbols(items * conv1.length);
    for (std::uint8_t& symbol : symbols) {
        symbol = static_cast<std::uint8_t>(engine() % (conv1.symbols + 1));
    }
    return symbols;
}

/// A forward pass, captured once.
class Graph {
public:
    explicit Graph(const ClassifierOnGpu& model) {
        cudaStream_t stream = nullptr;
        check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
        check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
        model.enqueue(stream);
        cudaGraph_t graph = nullptr;
        check_cuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
        check_cuda(cudaGraphInstantiate(&graph_, graph, 0), "cudaGraphInstantiate");
        check_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
        check_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph() { cudaGraphExecDestroy(graph_); }
    void launch(cudaStream_t stream) const { check_cuda(cudaGraphLaunch(graph_, stream), "cudaGraphLaunch"); }

private:
    cudaGraphExec_t graph_ = nullptr;
};

/// Two concurrent forward passes, each on its own stream.
class Pair {
public:
    Pair(const ClassifierOnGpu& a, const ClassifierOnGpu& b) : first_(a), second_(b) {
        check_cuda(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking), "cudaStreamCreate");
        check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
    }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;
    ~Pair() {
        cudaEventDestroy(event_);
        cudaStreamDestroy(side_);
    }
    /// `rounds` passes of each.
    void launch(cudaStream_t stream, int rounds) const {
        check_cuda(cudaEventRecord(event_, stream), "cudaEventRecord");
        check_cuda(cudaStreamWaitEvent(side_, event_), "cudaStreamWaitEvent");
        for (int i = 0; i < rounds; ++i) {
            first_.launch(stream);
            second_.launch(side_);
        }
        check_cuda(cudaEventRecord(event_, side_), "cudaEventRecord");
        check_cuda(cudaStreamWaitEvent(stream, event_), "cudaStreamWaitEvent");
    }

private:
    Graph first_;
    Graph second_;
    cudaStream_t side_ = nullptr;
    cudaEvent_t event_ = nullptr;
};

/// Bound on the error of the scores.
double error_bound(Precision precision) {
    switch (precision) {
        case Precision::bf16:
            return 2e-2;
        case Precision::tf32x3:
            return 1e-4;
        case Precision::fp32:
            return 1e-5;
        default:
            return 4e-3;
    }
}

}  // namespace

bool check_forward(const CudaDevice& gpu, Precision precision) {
    constexpr std::uint32_t items = 40;
    constexpr std::uint32_t checked = 16;
    const ClassifierTensors tensors = ClassifierTensors::normal_spread(3);
    std::vector<std::uint8_t> symbols = random_symbols(items);
    std::fill(symbols.begin() + 1014 + 300, symbols.begin() + 2 * 1014, std::uint8_t{70});  // a short text
    ClassifierOnGpu model(gpu, tensors, precision, items, {});
    model.set_symbols(symbols);
    model.enqueue(nullptr);
    check_cuda(cudaDeviceSynchronize(), "forward pass");
    const std::vector<Verdict> got = model.verdicts();
    std::vector<std::future<Verdict>> expected;
    for (std::size_t i = 0; i < checked; ++i) {
        expected.push_back(std::async(std::launch::async, [&, i] {
            return classify_in_double(tensors, std::span(symbols).subspan(i * conv1.length, conv1.length));
        }));
    }
    double off = 0;
    double norm = 0;
    std::uint32_t same = 0;
    for (std::size_t i = 0; i < checked; ++i) {
        const Verdict verdict = expected[i].get();
        same += verdict.label == got[i].label ? 1 : 0;
        for (std::size_t c = 0; c < classes; ++c) {
            off += std::pow(got[i].scores[c] - verdict.scores[c], 2);
            norm += std::pow(verdict.scores[c], 2);
        }
    }
    const double error = std::sqrt(off / norm);
    const double bound = error_bound(precision);
    fmt::print("check forward: scores' error {:.2e} {}, labels {} of {} equal\n", error, error < bound ? "ok" : "WRONG",
               same, checked);
    return error < bound;
}

void time_forward(const CudaDevice& gpu, Precision precision, std::span<const std::uint32_t> sizes,
                  cudaStream_t stream) {
    const ClassifierTensors tensors = ClassifierTensors::normal_spread(3);
    for (const std::uint32_t items : sizes) {
        const std::vector<std::uint8_t> symbols = random_symbols(items);
        ClassifierOnGpu model(gpu, tensors, precision, items, {.chained = true});
        ClassifierOnGpu other(gpu, tensors, precision, items, {.chained = true});
        model.set_symbols(symbols);
        other.set_symbols(symbols);
        model.enqueue(stream);
        other.enqueue(stream);
        const Graph graph(model);
        const Pair pair(model, other);
        constexpr int rounds = 8;
        const Launch whole[] = {[&](cudaStream_t s) { graph.launch(s); },
                                [&](cudaStream_t s) { pair.launch(s, rounds); }};
        const auto times = time_in_turn(whole, stream, 20000, 5);
        const double one = 1e6 * items / times[0].median_us;
        const double two = 2e6 * rounds * items / times[1].median_us;
        fmt::print("forward items {:5}: {:8.1f} us {:9.0f}/s {:4.0f} TFLOP/s | two streams {:9.0f}/s {:4.0f} TFLOP/s\n",
                   items, times[0].median_us, one, one * flop_per_item * 1e-12, two, two * flop_per_item * 1e-12);
        std::vector<Launch> steps;
        for (const auto& step : model.steps()) {
            steps.push_back(step.launch);
        }
        const auto each = time_in_turn(steps, stream, 1500, 5);
        double sum = 0;
        for (const Timing& t : each) {
            sum += t.median_us;
        }
        for (std::size_t i = 0; i < each.size(); ++i) {
            fmt::print("  {:10} {:8.1f} us {:5.1f} % {:8.1f} ns an item {:5.0f} TFLOP/s\n", model.steps()[i].name,
                       each[i].median_us, 100 * each[i].median_us / sum, 1e3 * each[i].median_us / items,
                       model.steps()[i].flop / each[i].median_us * 1e-6);
        }
        std::fflush(stdout);
    }
}

}  // namespace sluice::bench
