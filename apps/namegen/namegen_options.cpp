#include "apps/namegen/namegen_options.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr double highest_temperature = 100;

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
    KeySpec{.section = "generate",
            .name = "seed",
            .type = KeyType::integer,
            .most = (std::uint64_t{1} << 63U) - 1,
            .help = "Seed of the random numbers; 0 if unset."},
};

[[noreturn]] void refuse(std::string_view key, std::string what, std::string hint) {
    throw Error(ExitCode::configuration, {.id = "E-CFG-105",
                                          .where = fmt::format("generate.{}", key),
                                          .what = std::move(what),
                                          .hint = std::move(hint)});
}

void check_greedy(const AppSettings& settings, DrawsFrom draws) {
    constexpr const char* what = "generate.temperature = 0 chooses the likeliest byte: nothing is drawn";
    if (settings.find("generate.top_k") != nullptr) {
        refuse("top_k", what, "remove it, or raise the temperature");
    }
    if (settings.find("generate.seed") != nullptr) {
        refuse("seed", what, "remove it, or raise the temperature");
    }
    if (draws != DrawsFrom::philox) {
        refuse("rng", what, "remove it, or raise the temperature");
    }
}

void check_seed(std::uint64_t seed, DrawsFrom draws) {
    if (draws == DrawsFrom::input) {
        refuse("seed", "generate.rng = \"input\" takes the random numbers from the input file", "remove one of them");
    }
    if (draws == DrawsFrom::libc && seed > UINT32_MAX) {
        refuse("seed", fmt::format("got {}, but generate.rng = \"libc\" takes 0..{}", seed, UINT32_MAX),
               "choose a smaller one");
    }
}

}  // namespace

std::span<const KeySpec> namegen_keys() {
    return keys;
}

NamegenOptions read_namegen_options(const AppSettings& settings) {
    NamegenOptions options;
    options.draws = enum_of<DrawsFrom>(settings.get<std::string>("generate.rng")).value();
    Sampling& sampling = options.sampling;
    sampling.max_length = static_cast<std::uint32_t>(settings.get<std::uint64_t>("generate.max_length"));
    sampling.temperature = settings.get_float("generate.temperature");
    if (sampling.temperature == 0) {
        check_greedy(settings, options.draws);
    }
    if (const auto* const top_k = settings.find<std::uint64_t>("generate.top_k")) {
        sampling.top_k = static_cast<std::uint32_t>(*top_k);
    }
    if (const auto* const seed = settings.find<std::uint64_t>("generate.seed")) {
        sampling.seed = *seed;
        check_seed(sampling.seed, options.draws);
    }
    return options;
}

}  // namespace sluice
