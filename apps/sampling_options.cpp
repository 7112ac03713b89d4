#include "apps/sampling_options.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/error.hpp"

namespace sluice {

SamplingOptions read_sampling_options(const AppSettings& settings, std::span<const std::string_view> draw_keys,
                                      std::string_view unit) {
    SamplingOptions options{.temperature = settings.get_float("generate.temperature")};
    if (options.temperature == 0) {
        for (const std::string_view key : draw_keys) {
            if (settings.find(fmt::format("generate.{}", key)) != nullptr) {
                refuse_without_draws(key, unit);
            }
        }
    }
    if (const auto* const top_k = settings.find<std::uint64_t>("generate.top_k")) {
        options.top_k = static_cast<std::uint32_t>(*top_k);
    }
    if (const auto* const seed = settings.find<std::uint64_t>("generate.seed")) {
        options.seed = *seed;
    }
    return options;
}

void refuse_without_draws(std::string_view key, std::string_view unit) {
    refuse_generate_key(key, fmt::format("generate.temperature = 0 chooses the likeliest {}: nothing is drawn", unit),
                        fmt::format("remove it (also by --set generate.{}=), or raise the temperature", key));
}

void refuse_generate_key(std::string_view key, std::string what, std::string hint) {
    throw Error(ExitCode::configuration, {.id = "E-CFG-105",
                                          .where = fmt::format("generate.{}", key),
                                          .what = std::move(what),
                                          .hint = std::move(hint)});
}

}  // namespace sluice
