#include "apps/gpt2/gpt2_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <utility>

#include "apps/sampling_options.hpp"
#include "core/error.hpp"
#include "core/modes.hpp"

namespace sluice::gpt2 {
namespace {

constexpr std::uint64_t longest_text = 1U << 20U;  // tokens
constexpr std::uint64_t largest_vocabulary = 1U << 24U;
constexpr double highest_penalty = 100;
constexpr std::array<std::string_view, 2> forms{"text", "ids"};
constexpr std::array<std::string_view, 2> ways_with_long_prompts{"refuse", "cut"};

constexpr std::array keys{
    KeySpec{.section = "model",
            .name = "config",
            .type = KeyType::path,
            .help = "The checkpoint's config.json; default: beside the weights."},
    KeySpec{.section = "model",
            .name = "generation_config",
            .type = KeyType::path,
            .help = "Its generation_config.json, for begin and end tokens; default: beside the weights, if any."},
    KeySpec{.section = "model",
            .name = "tokenizer",
            .type = KeyType::path,
            .help = "Its tokenizer.json; default: beside the weights, else vocab.json and merges.txt there."},
    KeySpec{.section = "model",
            .name = "vocabulary",
            .type = KeyType::path,
            .help = "Its vocab.json; default without a tokenizer.json: beside the weights."},
    KeySpec{.section = "model",
            .name = "merges",
            .type = KeyType::path,
            .help = "Its merges.txt; default without a tokenizer.json: beside the weights."},
    KeySpec{.section = "model",
            .name = "attention",
            .type = KeyType::text,
            .choices = words_of<AttentionMask>,
            .fallback = "\"causal\"",
            .help = "What prompt tokens attend to: those before them, or the whole prompt (prefix language models)."},
    KeySpec{.section = "generate",
            .name = "max_new_tokens",
            .type = KeyType::integer,
            .least = 1,
            .most = longest_text,
            .fallback = "32",
            .help = "Maximum number of tokens in a continuation."},
    KeySpec{.section = "generate",
            .name = "max_prompt_tokens",
            .type = KeyType::integer,
            .least = 1,
            .most = longest_text,
            .fallback = "256",
            .help = "Maximum number of tokens in a prompt; every item takes this much room."},
    KeySpec{.section = "generate",
            .name = "long_prompts",
            .type = KeyType::text,
            .choices = ways_with_long_prompts,
            .fallback = "\"refuse\"",
            .help = "What to do with longer prompts: refuse the job, or cut them to their last tokens."},
    KeySpec{.section = "generate",
            .name = "temperature",
            .type = KeyType::real,
            .lowest = 0,
            .highest = highest_temperature,
            .fallback = "0.0",
            .help = "Divides the scores: below 1 favours likely texts, 0 always takes the most likely token."},
    KeySpec{.section = "generate",
            .name = "top_k",
            .type = KeyType::integer,
            .least = 1,
            .most = largest_vocabulary,
            .help = "Sample from this many most likely tokens only."},
    KeySpec{.section = "generate",
            .name = "top_p",
            .type = KeyType::real,
            .lowest = 0,
            .highest = 1,
            .help = "Sample from the smallest set of most likely tokens that together have this probability."},
    KeySpec{.section = "generate",
            .name = "repetition_penalty",
            .type = KeyType::real,
            .lowest = 1,
            .highest = highest_penalty,
            .fallback = "1.0",
            .help = "Makes tokens less likely that the text already has; 1: no penalty."},
    seed_key,
    KeySpec{.section = "generate",
            .name = "end_of_text",
            .type = KeyType::boolean,
            .fallback = "true",
            .help = "Whether a text ends at an eos_token_id of generation_config.json or config.json."},
    KeySpec{.section = "generate",
            .name = "stop",
            .type = KeyType::words,
            .help = "Strings; a text ends before the first one that appears."},
    KeySpec{.section = "generate",
            .name = "prompts",
            .type = KeyType::text,
            .choices = forms,
            .fallback = "\"text\"",
            .help = "Form of the input: texts or token ids."},
    KeySpec{.section = "generate",
            .name = "results",
            .type = KeyType::text,
            .choices = forms,
            .fallback = "\"text\"",
            .help = "Form of the output: texts, or max_new_tokens columns of token ids."},
    KeySpec{.section = "generate",
            .name = "log_probability",
            .type = KeyType::boolean,
            .fallback = "false",
            .help = "Write the log-probability of each continuation, by the model's own scores."},
    KeySpec{.section = "generate",
            .name = "token_log_probabilities",
            .type = KeyType::boolean,
            .fallback = "false",
            .help = "Write the log-probability of each new token, as max_new_tokens columns."},
    KeySpec{.section = "generate",
            .name = "kv_cache_dtype",
            .type = KeyType::text,
            .choices = words_of<KvCache>,
            .fallback = "\"auto\"",
            .help = "Type of the key-value cache; auto: the run's precision, in fp8 bf16. fp8 and int8: on GPUs in "
                    "bf16, fp16 and fp8."},
};

std::uint32_t number(const AppSettings& settings, const char* key) {
    return static_cast<std::uint32_t>(settings.get<std::uint64_t>(key));
}

TokenSampling read_sampling(const AppSettings& settings) {
    constexpr std::array<std::string_view, 3> draw_keys{"top_k", "top_p", "seed"};
    const auto [temperature, top_k, seed] = read_sampling_options(settings, draw_keys, "token");
    TokenSampling sampling{.max_prompt = number(settings, "generate.max_prompt_tokens"),
                           .max_new = number(settings, "generate.max_new_tokens"),
                           .repetition_penalty = settings.get_float("generate.repetition_penalty"),
                           .temperature = temperature,
                           .top_k = top_k,
                           .seed = seed,
                           .log_probabilities = settings.get<bool>("generate.log_probability") ||
                                                settings.get<bool>("generate.token_log_probabilities"),
                           .kv_cache = enum_of<KvCache>(settings.get<std::string>("generate.kv_cache_dtype")).value()};
    if (settings.find("generate.top_p") != nullptr) {
        sampling.top_p = settings.get_float("generate.top_p");
    }
    return sampling;
}

Files read_files(const AppSettings& settings) {
    Files files;
    const auto named = [&](const char* key) -> std::optional<std::filesystem::path> {
        const auto* const path = settings.find<std::filesystem::path>(key);
        return path == nullptr ? std::nullopt : std::optional(*path);
    };
    const auto beside = [&](const char* name) -> std::optional<std::filesystem::path> {
        if (settings.weights() == nullptr) {
            return std::nullopt;
        }
        return settings.weights()->parent_path() / name;
    };
    // A link that leads nowhere is there, and whoever opens it says so.
    const auto is_there = [](const std::optional<std::filesystem::path>& path) {
        std::error_code none;
        return path && std::filesystem::symlink_status(*path, none).type() != std::filesystem::file_type::not_found;
    };
    files.config = named("model.config");
    files.generation_config = named("model.generation_config");
    files.tokenizer = named("model.tokenizer");
    files.vocabulary = named("model.vocabulary");
    files.merges = named("model.merges");
    if (files.tokenizer && (files.vocabulary || files.merges)) {
        throw Error(ExitCode::configuration, {.id = "E-CFG-105",
                                              .where = "model.tokenizer",
                                              .what = "says what model.vocabulary and model.merges say",
                                              .hint = "remove it, or the two"});
    }
    if (!files.config) {
        files.config = beside("config.json");
    }
    if (!files.generation_config && is_there(beside("generation_config.json"))) {
        files.generation_config = beside("generation_config.json");
    }
    if (!files.tokenizer && !files.vocabulary && !files.merges && is_there(beside("tokenizer.json"))) {
        files.tokenizer = beside("tokenizer.json");
    }
    if (!files.tokenizer) {
        files.vocabulary = files.vocabulary ? files.vocabulary : beside("vocab.json");
        files.merges = files.merges ? files.merges : beside("merges.txt");
    }
    return files;
}

}  // namespace

std::span<const KeySpec> gpt2_keys() {
    return keys;
}

Options read_options(const AppSettings& settings) {
    Options options;
    options.sampling = read_sampling(settings);
    options.mask = enum_of<AttentionMask>(settings.get<std::string>("model.attention")).value();
    options.stops_at_end = settings.get<bool>("generate.end_of_text");
    options.cuts_prompts = settings.get<std::string>("generate.long_prompts") == "cut";
    options.takes_ids = settings.get<std::string>("generate.prompts") == "ids";
    options.gives_ids = settings.get<std::string>("generate.results") == "ids";
    options.gives_log_probability = settings.get<bool>("generate.log_probability");
    options.gives_token_log_probabilities = settings.get<bool>("generate.token_log_probabilities");
    options.files = read_files(settings);
    if (const auto* const stops = settings.find<std::vector<std::string>>("generate.stop")) {
        options.stops = *stops;
    }
    if (std::ranges::find(options.stops, "") != options.stops.end()) {
        refuse_generate_key("stop", "an empty string ends every text before it begins", "remove it");
    }
    if (options.gives_ids && !options.stops.empty()) {
        refuse_generate_key("stop", "generate.results = \"ids\" makes no texts, in which these could be",
                            "remove one of them");
    }
    return options;
}

}  // namespace sluice::gpt2
