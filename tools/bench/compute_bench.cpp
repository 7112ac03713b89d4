// Compute speed of the classifier beside a matrix product on the shape of its second convolution, in one run.
// Repetitions of all benchmarks are interleaved at random, so that clock and neighbours hit all alike.
//   compute_bench --benchmark_out=compute.json --benchmark_out_format=json
#include <benchmark/benchmark.h>
#include <dnnl.h>
#include <omp.h>
#ifdef SLUICE_WITH_CBLAS
#include <cblas.h>
#endif

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apps/classifier/classifier_app.hpp"
#include "core/device/host_device.hpp"
#include "core/weights/packed_weights.hpp"
#include "kernels/host_instructions.hpp"
#include "tools/bench/benchmarks_in_turn.hpp"

namespace sluice::bench {
namespace {

constexpr double giga = 1e9;
constexpr const char* rate = "GFLOP/s";

// Convolution 2 as a product: 330 positions per item, 256 filters, 7 taps of 256 channels.
constexpr std::int64_t columns = 256;
constexpr std::int64_t depth = 1792;
constexpr std::int64_t positions = 330;

struct Product {
    explicit Product(std::int64_t items)
        : rows(positions * items), a(rows * depth), b(depth * columns), c(rows * columns) {
        unsigned state = 1;
        for (auto* values : {&a, &b}) {
            for (float& value : *values) {
                state = state * 1664525U + 1013904223U;
                value = static_cast<float>(state >> 8U) / 16777216.0F - 0.5F;
            }
        }
    }
    std::int64_t rows;
    std::vector<float> a, b, c;
};

void set_rate(benchmark::State& state, double flop) {
    state.counters[rate] =
        benchmark::Counter(flop * static_cast<double>(state.iterations()) / giga, benchmark::Counter::kIsRate);
}

void onednn_sgemm(benchmark::State& state) {
    omp_set_num_threads(1);
    Product p(state.range(0));
    for (auto _ : state) {
        dnnl_sgemm('N', 'N', p.rows, columns, depth, 1.0F, p.a.data(), depth, p.b.data(), columns, 0.0F, p.c.data(),
                   columns);
    }
    set_rate(state, 2.0 * static_cast<double>(p.rows * columns * depth));
}

#ifdef SLUICE_WITH_CBLAS
void openblas_sgemm(benchmark::State& state) {
    Product p(state.range(0));
    for (auto _ : state) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(p.rows), columns, depth, 1.0F,
                    p.a.data(), depth, p.b.data(), columns, 0.0F, p.c.data(), columns);
    }
    set_rate(state, 2.0 * static_cast<double>(p.rows * columns * depth));
}
#endif

struct Engine {
    Engine(const LoadedApp& app, std::uint32_t items)
        : model(app.make_model(device, {.most_items = items})),
          in(device.allocate(MemorySpace::device, std::size_t{items} * model->shape().input_bytes)),
          out(device.allocate(MemorySpace::device, std::size_t{items} * model->shape().output_bytes)),
          stream(device.make_stream({})) {}

    HostDevice device;
    std::unique_ptr<Model> model;
    Buffer in;
    Buffer out;
    std::unique_ptr<Stream> stream;
};

/// Texts of 60 to 1014 letters: every symbol occurs, as do short and full items.
void fill(const ItemCodec& codec, std::span<std::byte> items) {
    unsigned state = 7;
    const std::size_t size = codec.shape().input_bytes;
    for (std::size_t at = 0; at < items.size(); at += size) {
        std::string text(60 + (at / size * 97) % 954, ' ');
        for (char& c : text) {
            state = state * 1664525U + 1013904223U;
            c = static_cast<char>(' ' + (state >> 16U) % 95);
        }
        codec.encode(0, text, items.subspan(at, size));
    }
}

/// `devices` models in parallel, each on its own core; range(0): items per chunk.
template <Precision precision>
void run_classifier(benchmark::State& state, std::size_t devices) {
    const auto app = classifier::open_classifier(false);
    static const WeightBlob weights = app->random_weights(17);
    static const auto loaded = load_alone(*app, weights, precision, DeviceKind::host, 2);
    const auto items = static_cast<std::uint32_t>(state.range(0));
    const auto codec = app->make_codec();
    std::vector<std::unique_ptr<Engine>> engines;
    for (std::size_t i = 0; i < devices; ++i) {
        engines.push_back(std::make_unique<Engine>(*loaded, items));
        fill(*codec, engines.back()->in.bytes());
    }
    for (auto _ : state) {
        std::vector<Event> done;
        for (const auto& engine : engines) {
            engine->model->forward(*engine->stream, items, engine->in.bytes(), engine->out.bytes());
            done.push_back(engine->stream->record());
        }
        for (const Event& event : done) {
            event.wait();
        }
    }
    const double count = static_cast<double>(items) * static_cast<double>(devices);
    set_rate(state, app->flop_per_item(weights) * count);
    state.counters["items/s"] =
        benchmark::Counter(count * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

/// Forwards results and keeps the medians for the final ratios.
class Ratios final : public benchmark::ConsoleReporter {
public:
    Ratios() : ConsoleReporter(OO_None) {}

    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.run_type == Run::RT_Aggregate && run.aggregate_name == "median") {
                medians_[run.run_name.function_name + "/" + run.run_name.args] = run.counters.at(rate).value;
            }
        }
        ConsoleReporter::ReportRuns(runs);
    }

    void print() const {
        double best = 0;
        for (const auto& [name, value] : medians_) {
            best = name.find("sgemm") != std::string::npos ? std::max(best, value) : best;
        }
        if (best == 0) {
            return;
        }
        for (const auto& [name, value] : medians_) {
            std::printf("%-32s %8.1f GFLOP/s  %6.1f %% of the best sgemm\n", name.c_str(), value, 100 * value / best);
        }
    }

private:
    std::map<std::string, double> medians_;
};

void add(const char* name, void (*function)(benchmark::State&), std::initializer_list<std::int64_t> sizes) {
    for (const std::int64_t size : sizes) {
        benchmark::RegisterBenchmark(name, function)->Arg(size)->UseRealTime()->Unit(benchmark::kMillisecond);
    }
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    using namespace sluice;
    using namespace sluice::bench;
    const BenchmarksInTurn benchmarks(argc, argv, 0.2);
    if (!benchmarks.knows_all_arguments()) {
        return 64;
    }
    add("onednn_sgemm", onednn_sgemm, {1, 8});
#ifdef SLUICE_WITH_CBLAS
    add("openblas_sgemm", openblas_sgemm, {1, 8});
#endif
    const auto in_fp32 = [](benchmark::State& state) { run_classifier<Precision::fp32>(state, 1); };
    add("classifier_one_device", in_fp32, {1, 4, 8, 16, 32, 64});
    add("classifier_two_devices", [](benchmark::State& state) { run_classifier<Precision::fp32>(state, 2); }, {32});
    limit_host_instructions(host_instructions());
    if (host_instructions() == HostInstructions::amx) {
        const auto in_bf16 = [](benchmark::State& state) { run_classifier<Precision::bf16>(state, 1); };
        add("classifier_one_device_bf16", in_bf16, {1, 8, 32, 64});
    }
    Ratios reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
    reporter.print();
    return 0;
}
