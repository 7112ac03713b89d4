// GPT-2 (124M, random weights, 16 tokens of prompt and 8 new ones) on two cores of the host, in fp32 and, with AMX,
// bf16, beside oneDNN's sgemm on the shape of its largest product in a block, on as many, in one run: they take turns,
// and the ratios are of neighbours. `long`: 900 tokens of prompt and one new one. Attention does not count as work,
// which shows what it costs.
//   bench_gpt2 [long] [TEXTS OF A CHUNK ...]
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/checkpoint.hpp"
#include "apps/gpt2/gpt2_app.hpp"
#include "core/app.hpp"
#include "core/config/config.hpp"
#include "core/device/host_device.hpp"
#include "core/device/model_runner.hpp"
#include "core/weights/packed_weights.hpp"
#include "tools/bench/beside_sgemm.hpp"
#include "tools/bench/median.hpp"

namespace sluice::bench {
namespace {

/// Tokens.
struct Lengths {
    std::uint64_t prompt;
    std::uint64_t made;
};

constexpr Lengths short_texts{.prompt = 16, .made = 8};
constexpr Lengths long_texts{.prompt = 900, .made = 1};
constexpr std::size_t cores = 2;
constexpr int repetitions = 5;
constexpr double giga = 1e9;
constexpr double enough_seconds = 0.5;
constexpr std::int64_t rows_of_a_pass = 192;

/// Products only. The last layer computes keys and values of every token, but the rest only where scores are needed.
double flop_of_text(const DecoderShape& shape, const Lengths& lengths) {
    const double width = shape.width;
    const double block = 4 * width * width + 2 * width * shape.inner;
    const auto made = static_cast<double>(lengths.made);
    const auto prompt = static_cast<double>(lengths.prompt);
    const double unwanted = (prompt - 1) * (block - 3 * width * width);
    return 2 * (shape.layers * block * (prompt + made - 1) - unwanted + width * shape.vocabulary * made);
}

AppSettings settings_for(const Lengths& lengths) {
    AppSettings settings = default_settings(gpt2::gpt2_app().keys());
    settings.set("generate.prompts", std::string("ids"));
    settings.set("generate.results", std::string("ids"));
    settings.set("generate.end_of_text", false);
    settings.set("generate.max_prompt_tokens", lengths.prompt);
    settings.set("generate.max_new_tokens", lengths.made);
    return settings;
}

/// Some texts on their own device.
class Texts {
public:
    Texts(const LoadedApp& app, const ItemCodec& codec, const Lengths& lengths, std::uint32_t count,
          std::uint64_t first)
        : model_(app.make_model(device_, {.most_items = count, .device_bytes = std::uint64_t{2} << 30U})),
          runner_(device_, *model_, count) {
        const std::size_t bytes = codec.shape().input_bytes;
        items_.resize(count * bytes);
        for (std::uint32_t i = 0; i < count; ++i) {
            std::string prompt;
            for (std::uint64_t t = 0; t < lengths.prompt; ++t) {
                prompt += fmt::format("{} ", (first + i) * 7919 % 30'000 + t * 13);
            }
            codec.encode(first + i, prompt, std::span(items_).subspan(i * bytes, bytes));
        }
    }

    void run() { static_cast<void>(runner_.run(items_)); }

private:
    HostDevice device_;
    std::unique_ptr<Model> model_;
    ModelRunner runner_;
    std::vector<std::byte> items_;
};

/// The model in one precision, and what was measured of it.
struct Measured {
    Precision precision;
    std::unique_ptr<LoadedApp> app;
    std::vector<std::unique_ptr<Texts>> decoders{};
    std::vector<double> text_rates{};
    std::vector<double> shares{};
};

void compare(std::vector<Measured>& all, const ItemCodec& codec, const DecoderShape& shape, const Lengths& lengths,
             std::uint32_t texts) {
    std::vector<std::unique_ptr<Sgemm>> products;
    for (std::size_t i = 0; i < cores; ++i) {
        products.push_back(std::make_unique<Sgemm>(rows_of_a_pass, shape.width, shape.inner));
    }
    for (Measured& one : all) {
        one = {.precision = one.precision, .app = std::move(one.app)};
        for (std::size_t i = 0; i < cores; ++i) {
            one.decoders.push_back(std::make_unique<Texts>(*one.app, codec, lengths, texts, i * texts));
        }
    }
    std::vector<double> sgemm_rates;
    for (int i = 0; i < repetitions; ++i) {
        sgemm_rates.push_back(rate_together<Sgemm>(products, enough_seconds, [](Sgemm& product) {
            product.run();
            return product.flop();
        }));
        for (Measured& one : all) {
            one.text_rates.push_back(rate_together<Texts>(one.decoders, enough_seconds, [&](Texts& decoder) {
                decoder.run();
                return static_cast<double>(texts);
            }));
            one.shares.push_back(one.text_rates.back() * flop_of_text(shape, lengths) / sgemm_rates.back());
        }
    }
    for (const Measured& one : all) {
        fmt::print("{:>6} {:>9} {:>12.1f} {:>10.1f} {:>10.1f} {:>8.1f} ({:.1f} to {:.1f})\n", texts,
                   name_of(one.precision), median(one.text_rates) * static_cast<double>(lengths.made),
                   median(one.text_rates) * flop_of_text(shape, lengths) / giga, median(sgemm_rates) / giga,
                   100 * median(one.shares), 100 * std::ranges::min(one.shares), 100 * std::ranges::max(one.shares));
    }
}

void run(const Lengths& lengths, const std::vector<std::uint32_t>& sizes) {
    const std::unique_ptr<OpenApp> app = gpt2::gpt2_app().open(settings_for(lengths));
    const std::unique_ptr<ItemCodec> codec = app->make_codec();
    const WeightBlob weights = app->random_weights(17);
    std::vector<Measured> all;
    for (const Precision precision : host_precisions()) {
        all.push_back({precision, load_alone(*app, weights, precision, DeviceKind::host, cores)});
    }
    fmt::print("GPT-2 124M, {} + {} tokens, {} cores, {} repetitions\n", lengths.prompt, lengths.made, cores,
               repetitions);
    fmt::print("{:>6} {:>9} {:>12} {:>10} {:>10} {:>8}\n", "chunk", "precision", "new tokens/s", "GFLOP/s", "sgemm",
               "% of it (least to most)");
    for (const std::uint32_t size : sizes) {
        compare(all, *codec, gpt2::config_of(weights).shape, lengths, size);
    }
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    constexpr const char* usage = "bench_gpt2 [long] [TEXTS OF A CHUNK ...]";
    if (argc > 1 && std::string_view(argv[1]) == "long") {
        return sluice::bench::run_sizes(argc - 1, argv + 1, usage, {2}, [](const std::vector<std::uint32_t>& sizes) {
            sluice::bench::run(sluice::bench::long_texts, sizes);
        });
    }
    return sluice::bench::run_sizes(argc, argv, usage, {32, 96}, [](const std::vector<std::uint32_t>& sizes) {
        sluice::bench::run(sluice::bench::short_texts, sizes);
    });
}
