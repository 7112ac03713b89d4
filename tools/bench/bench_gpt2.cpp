// GPT-2 (124M, random weights, 16 tokens of prompt and 8 new ones) on two cores of the host beside oneDNN's matrix
// product on the shape of its largest product in a block, on as many, in one run: the two take turns, and the ratios
// are of neighbours.
//   bench_gpt2 [TEXTS OF A CHUNK ...]
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "apps/gpt2/checkpoint.hpp"
#include "apps/gpt2/gpt2_app.hpp"
#include "core/app.hpp"
#include "core/config/config.hpp"
#include "core/device/host_device.hpp"
#include "core/model_runner.hpp"
#include "tools/bench/beside_sgemm.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t prompt_tokens = 16;
constexpr std::uint64_t new_tokens = 8;
constexpr std::size_t cores = 2;
constexpr int repetitions = 5;
constexpr double giga = 1e9;
constexpr double enough_seconds = 0.5;
constexpr std::int64_t rows_of_a_pass = 192;

/// Products only. The last layer computes keys and values of every token, but the rest only where scores are needed.
double flop_of_text(const DecoderShape& shape) {
    const double width = shape.width;
    const double block = 4 * width * width + 2 * width * shape.inner;
    const double tokens = prompt_tokens + new_tokens - 1;
    const double unwanted = (prompt_tokens - 1) * (block - 3 * width * width);
    return 2 * (shape.layers * block * tokens - unwanted + width * shape.vocabulary * new_tokens);
}

AppSettings settings() {
    AppSettings settings = default_settings(gpt2::gpt2_app().keys());
    settings.set("generate.prompts", std::string("ids"));
    settings.set("generate.results", std::string("ids"));
    settings.set("generate.end_of_text", false);
    settings.set("generate.max_prompt_tokens", prompt_tokens);
    settings.set("generate.max_new_tokens", new_tokens);
    return settings;
}

/// Some texts on their own device.
class Texts {
public:
    Texts(const LoadedApp& app, const ItemCodec& codec, std::uint32_t count, std::uint64_t first)
        : model_(app.make_model(device_, {.max_items = count, .device_bytes = std::uint64_t{2} << 30U})),
          runner_(device_, *model_, count) {
        const std::size_t bytes = codec.shape().input_bytes;
        items_.resize(count * bytes);
        for (std::uint32_t i = 0; i < count; ++i) {
            std::string prompt;
            for (std::uint64_t t = 0; t < prompt_tokens; ++t) {
                prompt += fmt::format("{} ", (first + i) * 7919 % 50'000 + t * 13);
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

void compare(const LoadedApp& app, const ItemCodec& codec, const DecoderShape& shape, std::uint32_t texts) {
    std::vector<std::unique_ptr<Sgemm>> products;
    std::vector<std::unique_ptr<Texts>> decoders;
    for (std::size_t i = 0; i < cores; ++i) {
        products.push_back(std::make_unique<Sgemm>(rows_of_a_pass, shape.width, shape.inner));
        decoders.push_back(std::make_unique<Texts>(app, codec, texts, i * texts));
    }
    std::vector<double> sgemm_rates;
    std::vector<double> text_rates;
    std::vector<double> shares;
    for (int i = 0; i < repetitions; ++i) {
        sgemm_rates.push_back(rate_together<Sgemm>(products, enough_seconds, [](Sgemm& product) {
            product.run();
            return product.flop();
        }));
        text_rates.push_back(rate_together<Texts>(decoders, enough_seconds, [&](Texts& decoder) {
            decoder.run();
            return static_cast<double>(texts);
        }));
        shares.push_back(text_rates.back() * flop_of_text(shape) / sgemm_rates.back());
    }
    fmt::print("{:>6} {:>12.1f} {:>10.1f} {:>10.1f} {:>8.1f} ({:.1f} to {:.1f})\n", texts,
               median(text_rates) * new_tokens, median(text_rates) * flop_of_text(shape) / giga,
               median(sgemm_rates) / giga, 100 * median(shares), 100 * std::ranges::min(shares),
               100 * std::ranges::max(shares));
}

void run(const std::vector<std::uint32_t>& sizes) {
    const std::unique_ptr<OpenApp> app = gpt2::gpt2_app().open(settings());
    const std::unique_ptr<ItemCodec> codec = app->make_codec();
    const WeightBlob weights = app->random_weights(17);
    const std::unique_ptr<LoadedApp> loaded = load_alone(*app, weights, Precision::fp32, DeviceKind::host, cores);
    fmt::print("GPT-2 124M, {} + {} tokens, fp32, {} cores, {} repetitions\n", prompt_tokens, new_tokens, cores,
               repetitions);
    fmt::print("{:>6} {:>12} {:>10} {:>10} {:>8}\n", "chunk", "new tokens/s", "GFLOP/s", "sgemm",
               "% of it (least to most)");
    for (const std::uint32_t size : sizes) {
        compare(*loaded, *codec, gpt2::config_of(weights).shape, size);
    }
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    return sluice::run_sizes(argc, argv, "bench_gpt2 [TEXTS OF A CHUNK ...]", {32, 96}, sluice::run);
}
