#include "apps/namegen/namegen_options.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "apps/sampling_options.hpp"
#include "core/error.hpp"

namespace sluice::namegen {
namespace {

constexpr std::array keys{
    KeySpec{.section = "generate",
            .name = "max_length",
            .type = KeyType::integer,
            .least = 1,
            .most = longest_name,
            .fallback = "10",
            .help = "Maximum length of a name in bytes, prefix included."},
    KeySpec{.section = "generate",
            .name = "temperature",
            .type = KeyType::real,
            .lowest = 0,
            .highest = highest_temperature,
            .fallback = "1.0",
            .help = "Divides the scores: below 1 favours likely names, 0 always takes the most likely byte."},
    KeySpec{.section = "generate",
            .name = "top_k",
            .type = KeyType::integer,
            .least = 1,
            .most = gru_symbols,
            .help = "Sample from this many most likely bytes only."},
    KeySpec{.section = "generate",
            .name = "rng",
            .type = KeyType::text,
            .choices = words_of<DrawsFrom>,
            .fallback = "\"philox\"",
            .help = "Source of random numbers: counter-based by item, glibc's rand(), or the input file."},
    seed_key,
};

void check_seed(std::uint64_t seed, DrawsFrom draws) {
    if (draws == DrawsFrom::input) {
        refuse_generate_key("seed", "generate.rng = \"input\" takes the random numbers from the input file",
                            "remove one of them");
    }
    if (draws == DrawsFrom::libc && seed > UINT32_MAX) {
        refuse_generate_key("seed", fmt::format("got {}, but generate.rng = \"libc\" takes 0..{}", seed, UINT32_MAX),
                            "choose a smaller one");
    }
}

}  // namespace

std::span<const KeySpec> namegen_keys() {
    return keys;
}

NamegenOptions read_namegen_options(const AppSettings& settings) {
    constexpr std::string_view unit = "byte";
    NamegenOptions options;
    options.draws = enum_of<DrawsFrom>(settings.get<std::string>("generate.rng")).value();
    constexpr std::array<std::string_view, 2> draw_keys{"top_k", "seed"};
    const auto [temperature, top_k, seed] = read_sampling_options(settings, draw_keys, unit);
    if (temperature == 0 && options.draws != DrawsFrom::philox) {
        refuse_without_draws("rng", unit);
    }
    if (settings.find("generate.seed") != nullptr) {
        check_seed(seed, options.draws);
    }
    options.sampling = {.max_length = static_cast<std::uint32_t>(settings.get<std::uint64_t>("generate.max_length")),
                        .temperature = temperature,
                        .top_k = top_k,
                        .seed = seed};
    return options;
}

}  // namespace sluice::namegen
