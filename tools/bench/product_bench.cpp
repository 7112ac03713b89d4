// A host core's products beside oneDNN's, fp32 and, with AMX, bf16, on the shapes of the models. Inputs are fp32 for
// all, as models have them; oneDNN's weights are in the layout that it prefers. Repetitions are interleaved at random.
//   OMP_NUM_THREADS=1 product_bench --benchmark_filter=bf16
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <dnnl.hpp>
#include <map>
#include <string>
#include <vector>

#include "kernels/host/invariant_product.hpp"
#include "kernels/host/tile_product.hpp"
#include "tools/bench/benchmarks_in_turn.hpp"

namespace sluice::bench {
namespace {

constexpr double giga = 1e9;
constexpr const char* rate = "GFLOP/s";

struct Shape {
    const char* name;
    std::size_t rows;
    std::size_t outputs;
    std::size_t inputs;
};

constexpr Shape shapes[] = {
    {"gpt2 queries", 192, 2304, 768},        {"gpt2 projection", 192, 768, 768}, {"gpt2 expansion", 192, 3072, 768},
    {"gpt2 contraction", 192, 768, 3072},    {"gpt2 head", 96, 50257, 768},      {"names gates", 192, 3072, 1024},
    {"classifier linear 1", 32, 1024, 8704},
};

std::vector<float> some_numbers(std::size_t count) {
    std::vector<float> numbers(count);
    unsigned state = 1;
    for (float& number : numbers) {
        state = state * 1664525U + 1013904223U;
        number = static_cast<float>(state >> 8U) / 16777216.0F - 0.5F;
    }
    return numbers;
}

void set_rate(benchmark::State& state, const Shape& shape) {
    const double flop = 2.0 * static_cast<double>(shape.rows * shape.outputs) * static_cast<double>(shape.inputs);
    state.counters[rate] =
        benchmark::Counter(flop * static_cast<double>(state.iterations()) / giga, benchmark::Counter::kIsRate);
}

void ours(benchmark::State& state, const Shape& shape, Precision precision) {
    const std::vector<float> weights = some_numbers(shape.outputs * shape.inputs);
    const std::vector<float> bias = some_numbers(shape.outputs);
    const std::vector<float> in = some_numbers(shape.rows * shape.inputs);
    std::vector<float> out(shape.rows * shape.outputs);
    PackedWeights packed;
    const InvariantMatrix matrix =
        reserve_invariant(precision, shape.inputs, std::span<const float>(weights), bias, packed);
    packed.pack(NodeMemory::of_process(packed.bytes()), {}, 1);
    InvariantProduct product(precision, shape.inputs, shape.rows);
    for (auto _ : state) {
        product(matrix.view(), shape.rows, in.data(), out.data());
    }
    set_rate(state, shape);
}

/// Rounds the inputs, as ours does, and multiplies.
void of_onednn(benchmark::State& state, const Shape& shape, Precision precision) {
    using Type = dnnl::memory::data_type;
    using Tag = dnnl::memory::format_tag;
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    const auto rows = static_cast<dnnl::memory::dim>(shape.rows);
    const auto outputs = static_cast<dnnl::memory::dim>(shape.outputs);
    const auto inputs = static_cast<dnnl::memory::dim>(shape.inputs);
    const Type type = precision == Precision::bf16 ? Type::bf16 : Type::f32;
    std::vector<float> in = some_numbers(shape.rows * shape.inputs);
    std::vector<float> weights = some_numbers(shape.outputs * shape.inputs);
    std::vector<float> bias = some_numbers(shape.outputs);
    const dnnl::matmul::desc description({{rows, inputs}, type, Tag::ab}, {{inputs, outputs}, type, Tag::any},
                                         {{1, outputs}, Type::f32, Tag::ab}, {{rows, outputs}, Type::f32, Tag::ab});
    const dnnl::matmul::primitive_desc plan(description, engine);
    const dnnl::matmul product(plan);
    dnnl::memory given({{rows, inputs}, Type::f32, Tag::ab}, engine, in.data());
    dnnl::memory plain_weights({{inputs, outputs}, Type::f32, Tag::ba}, engine, weights.data());
    dnnl::memory of_bias({{1, outputs}, Type::f32, Tag::ab}, engine, bias.data());
    dnnl::memory rounded(plan.src_desc(), engine);
    dnnl::memory packed(plan.weights_desc(), engine);
    dnnl::memory out(plan.dst_desc(), engine);
    dnnl::reorder(plain_weights, packed).execute(stream, plain_weights, packed);
    dnnl::reorder round(given, rounded);
    for (auto _ : state) {
        if (precision == Precision::bf16) {
            round.execute(stream, given, rounded);
        }
        product.execute(stream, {{DNNL_ARG_SRC, precision == Precision::bf16 ? rounded : given},
                                 {DNNL_ARG_WEIGHTS, packed},
                                 {DNNL_ARG_BIAS, of_bias},
                                 {DNNL_ARG_DST, out}});
        stream.wait();
    }
    set_rate(state, shape);
}

/// Forwards results and keeps the medians for the final ratios.
class Ratios final : public benchmark::ConsoleReporter {
public:
    Ratios() : ConsoleReporter(OO_None) {}

    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.run_type == Run::RT_Aggregate && run.aggregate_name == "median") {
                medians_[run.run_name.function_name] = run.counters.at(rate).value;
            }
        }
    }

    void print() const {
        for (const auto& [name, value] : medians_) {
            if (const auto peer = medians_.find(name + ", oneDNN"); peer != medians_.end()) {
                std::printf("%-32s %8.1f GFLOP/s, oneDNN's %8.1f: %6.1f %%\n", name.c_str(), value, peer->second,
                            100 * value / peer->second);
            }
        }
    }

private:
    std::map<std::string, double> medians_;
};

void add_all() {
    std::vector<Precision> precisions{Precision::fp32};
    if (has_tiles()) {
        enable_tiles();
        precisions.push_back(Precision::bf16);
    }
    for (const Precision precision : precisions) {
        for (const Shape& shape : shapes) {
            const std::string name = fmt::format("{}, {}", shape.name, name_of(precision));
            benchmark::RegisterBenchmark(name.c_str(), ours, shape, precision)->UseRealTime();
            benchmark::RegisterBenchmark((name + ", oneDNN").c_str(), of_onednn, shape, precision)->UseRealTime();
        }
    }
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    using namespace sluice;
    using namespace sluice::bench;
    const BenchmarksInTurn benchmarks(argc, argv, 0.1);
    if (!benchmarks.knows_all_arguments()) {
        return 64;
    }
    add_all();
    Ratios reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
    reporter.print();
    return 0;
}
