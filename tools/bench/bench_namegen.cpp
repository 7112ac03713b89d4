// Names of the app namegen on two cores of the host, in fp32 and, with AMX, bf16, beside oneDNN's sgemm on the shape of
// its largest product, on as many, in one run: they take turns, and the ratios are of neighbours.
//   bench_namegen [NAMES OF A CHUNK ...]
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "apps/namegen/namegen_app.hpp"
#include "apps/namegen/namegen_weights.hpp"
#include "core/app.hpp"
#include "core/config/schema.hpp"
#include "core/device/host_device.hpp"
#include "core/device/model_runner.hpp"
#include "core/error.hpp"
#include "core/weights/packed_weights.hpp"
#include "kernels/generator.hpp"
#include "tools/bench/beside_sgemm.hpp"
#include "tools/bench/median.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint32_t max_length = 10;
constexpr std::size_t cores = 2;
constexpr int repetitions = 15;
constexpr double giga = 1e9;
constexpr double enough_seconds = 0.3;

/// Products of one step of two layers.
double flop_of_step(const GruShape& shape) {
    const double hidden = shape.hidden;
    return 2 * ((2.0 * shape.layers - 1) * 3 * hidden * hidden + gru_symbols * hidden);
}

/// Some names on their own device.
class Names {
public:
    Names(const LoadedApp& app, const ItemCodec& codec, std::uint32_t count, std::uint64_t first)
        : model_(app.make_model(device_, {.most_items = count})), runner_(device_, *model_, count), count_(count) {
        const std::size_t bytes = codec.shape().input_bytes;
        items_.resize(count * bytes);
        for (std::uint32_t i = 0; i < count; ++i) {
            codec.encode(first + i, {}, std::span(items_).subspan(i * bytes, bytes));
        }
    }

    void run() { results_ = runner_.run(items_); }

    /// Steps of a row: one per input byte, and the byte that completes a name is no input. The first step is shared.
    [[nodiscard]] double steps() const {
        double steps = 0;
        for (std::uint32_t i = 0; i < count_; ++i) {
            TextEnd end;
            std::memcpy(&end, &results_[i * generator_io(max_length).output_bytes], sizeof end);
            steps += std::min<std::int32_t>(end.length, max_length - 1);
        }
        return steps;
    }

private:
    HostDevice device_;
    std::unique_ptr<Model> model_;
    ModelRunner runner_;
    std::uint32_t count_;
    std::vector<std::byte> items_;
    std::span<const std::byte> results_;
};

/// The model in one precision, and what was measured of it.
struct Measured {
    Precision precision;
    std::unique_ptr<LoadedApp> app;
    std::vector<std::unique_ptr<Names>> generators{};
    std::vector<double> name_rates{};
    std::vector<double> flop_rates{};
    std::vector<double> shares{};

    void measure(std::uint32_t names, double sgemm_rate) {
        name_rates.push_back(rate_together<Names>(generators, enough_seconds, [&](Names& generator) {
            generator.run();
            return static_cast<double>(names);
        }));
        double steps_per_name = 0;
        for (const auto& generator : generators) {
            steps_per_name += generator->steps() / names / cores;
        }
        flop_rates.push_back(name_rates.back() * steps_per_name * flop_of_step(namegen::headerless_namegen));
        shares.push_back(flop_rates.back() / sgemm_rate);
    }
};

void compare(std::vector<Measured>& all, const ItemCodec& codec, std::uint32_t names) {
    std::vector<std::unique_ptr<Sgemm>> products;
    for (std::size_t i = 0; i < cores; ++i) {
        products.push_back(std::make_unique<Sgemm>(std::min<std::int64_t>(names, 192),
                                                   namegen::headerless_namegen.hidden,
                                                   3 * std::int64_t{namegen::headerless_namegen.hidden}));
    }
    for (Measured& one : all) {
        one = {.precision = one.precision, .app = std::move(one.app)};
        for (std::size_t i = 0; i < cores; ++i) {
            one.generators.push_back(std::make_unique<Names>(*one.app, codec, names, i * names));
        }
    }
    std::vector<double> sgemm_rates;
    for (int i = 0; i < repetitions; ++i) {
        sgemm_rates.push_back(rate_together<Sgemm>(products, enough_seconds, [](Sgemm& product) {
            product.run();
            return product.flop();
        }));
        for (Measured& one : all) {
            one.measure(names, sgemm_rates.back());
        }
    }
    for (const Measured& one : all) {
        fmt::print("{:>6} {:>9} {:>10.0f} {:>10.1f} {:>10.1f} {:>8.1f} ({:.1f} to {:.1f})\n", names,
                   name_of(one.precision), median(one.name_rates), median(one.flop_rates) / giga,
                   median(sgemm_rates) / giga, 100 * median(one.shares), 100 * std::ranges::min(one.shares),
                   100 * std::ranges::max(one.shares));
    }
}

void run(const std::vector<std::uint32_t>& sizes) {
    const std::unique_ptr<OpenApp> app = namegen::namegen_app().open(default_settings(namegen::namegen_app().keys()));
    const std::unique_ptr<ItemCodec> codec = app->make_codec();
    const WeightBlob weights = app->random_weights(17);
    std::vector<Measured> all;
    for (const Precision precision : host_precisions()) {
        all.push_back({precision, load_alone(*app, weights, precision, DeviceKind::host, cores)});
    }
    fmt::print("namegen, 1024 hidden, 2 layers, random weights, {} cores, {} repetitions\n", cores, repetitions);
    fmt::print("{:>6} {:>9} {:>10} {:>10} {:>10} {:>8}\n", "chunk", "precision", "names/s", "GFLOP/s", "sgemm",
               "% of it (least to most)");
    for (const std::uint32_t size : sizes) {
        compare(all, *codec, size);
    }
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    return sluice::bench::run_sizes(argc, argv, "bench_namegen [NAMES OF A CHUNK ...]", {64, 192, 1024},
                                    sluice::bench::run);
}
