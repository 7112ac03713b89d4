#include "apps/gpt2/gpt2_app.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "apps/gpt2/checkpoint.hpp"
#include "apps/gpt2/checkpoint_index.hpp"
#include "apps/gpt2/gpt2_codec.hpp"
#include "apps/gpt2/gpt2_model.hpp"
#include "apps/gpt2/gpt2_options.hpp"
#include "apps/gpt2/pattern.hpp"
#include "apps/gpt2/tokenizer.hpp"
#include "apps/text_model.hpp"
#include "core/error.hpp"
#include "core/files/opened_file.hpp"
#include "core/files/paths.hpp"
#include "kernels/decoder.hpp"
#include "kernels/kernels.hpp"

namespace sluice::gpt2 {
namespace {

constexpr const char* or_ids = ", or give and take token ids: generate.prompts and generate.results = \"ids\"";
constexpr const char* where_checkpoints_come_from =
    "a checkpoint's files lie beside each other, as \"huggingface-cli download gpt2\" leaves them (docs/gpt2.md); ";

class LoadedGpt2 final : public LoadedApp {
public:
    LoadedGpt2(const DecoderShape& shape, const DecoderWeights& weights, const TokenSampling& sampling,
               Precision precision, DeviceKind kind)
        : sampling_(sampling),
          vocabulary_(shape.vocabulary),
          layer_(decoder_kernels_of(kind, precision).decoder(shape, weights, sampling, weights_)) {}

    PackedWeights* weights() override { return &weights_; }
    std::unique_ptr<Model> make_model(Device& device, const ModelRoom& room) const override {
        return make_gpt2_model(sampling_, layer_->make_decoder(device, room.most_items, room.device_bytes));
    }
    std::uint64_t least_room(std::uint32_t most_items) const override { return layer_->least_bytes(most_items); }
    [[nodiscard]] ChunkLimits chunk_limits() const override { return decoder_chunks; }
    void vary_copies(std::span<std::byte> items, std::uint32_t copy) const override {
        make_other_prompts(items, copy, sampling_, vocabulary_);
    }

private:
    TokenSampling sampling_;
    std::uint32_t vocabulary_;
    PackedWeights weights_;
    std::unique_ptr<DecoderLayer> layer_;
};

class OpenGpt2 final : public OpenApp {
public:
    explicit OpenGpt2(const AppSettings& settings) : options_(read_options(settings)), settings_(settings) {}

    IoShape shape() const noexcept override { return decoder_io(options_.sampling); }

    bool supports_fp8() const noexcept override { return true; }

    void check(Precision precision, DeviceKind kind) const override {
        const bool quantises =
            kind == DeviceKind::cuda &&
            (precision == Precision::bf16 || precision == Precision::fp16 || precision == Precision::fp8);
        if (options_.sampling.kv_cache != KvCache::as_computed && !quantises) {
            throw Error(
                ExitCode::configuration,
                {.id = "E-CFG-174",
                 .where = "generate.kv_cache_dtype",
                 .what = fmt::format("got \"{}\", which keeps keys and values of bf16, fp16 and fp8 on GPUs, and the "
                                     "job computes in {} on {}",
                                     name_of(options_.sampling.kv_cache), name_of(precision),
                                     kind == DeviceKind::cuda ? "GPUs" : "the host"),
                 .hint = "remove it, or set run.device = \"cuda\" and run.precision = \"bf16\", \"fp16\" or \"fp8\""});
        }
    }

    /// Every pass reads all weights, however few texts there are.
    std::uint32_t least_chunk() const noexcept override { return 64; }

    bool is_batch_invariant(Precision) const noexcept override { return true; }

    /// Of a prompt half as long as it may be, and a whole continuation.
    double flop_per_item(const WeightBlob& weights) const noexcept override {
        const DecoderShape shape = config_of(weights).shape;
        const double width = shape.width;
        const std::uint64_t units =
            std::uint64_t{shape.attention_width()} + shape.query_width() + shape.expanded_width() + shape.inner;
        const double blocks = shape.layers * width * static_cast<double>(units);
        const double steps = options_.sampling.max_prompt / 2.0 + options_.sampling.max_new;
        return 2 * (blocks * steps + width * shape.vocabulary * options_.sampling.max_new);
    }

    ProductWork product_work(Precision precision) const noexcept override { return product_work_of_texts(precision); }

    std::vector<AppFile> files() const override {
        refuse_missing_weights();
        std::vector<AppFile> files;
        const auto add = [&](const char* name, const std::optional<std::filesystem::path>& path,
                             const char* more = "") {
            if (path && settings_.find(name) == nullptr) {
                files.push_back(
                    {.name = name,
                     .path = *path,
                     .hint = fmt::format("{}where they do not, set {}{}", where_checkpoints_come_from, name, more)});
            }
        };
        if (needs_config()) {
            add("model.config", options_.files.config);
            add("model.generation_config", options_.files.generation_config);
        }
        if (needs_tokenizer()) {
            add("model.tokenizer", options_.files.tokenizer, or_ids);
            if (may_be_gpt2()) {  // others need a tokenizer.json, whether these are there or not
                add("model.vocabulary", options_.files.vocabulary, or_ids);
                add("model.merges", options_.files.merges, or_ids);
            }
        }
        if (settings_.weights() != nullptr) {
            for (const std::filesystem::path& shard : shards_of(*settings_.weights())) {
                files.push_back(
                    {.name = fmt::format("model.weights: {}", shard.filename().native()),
                     .path = shard,
                     .hint = fmt::format("{}fetch this one, which the index names", where_checkpoints_come_from)});
            }
        }
        return files;
    }

    std::unique_ptr<ItemCodec> make_codec() const override {
        const Config config = read_config_or_default();
        std::optional<Tokenizer> tokenizer = read_tokenizer(config.family);
        if (!options_.takes_ids && tokenizer->beginning().size() >= options_.sampling.max_prompt) {
            throw Error(ExitCode::configuration,
                        {.id = "E-CFG-176",
                         .where = "generate.max_prompt_tokens",
                         .what = fmt::format("got {}, and the tokenizer puts {} before every text",
                                             options_.sampling.max_prompt, tokenizer->beginning().size()),
                         .hint = "raise it"});
        }
        return std::make_unique<Gpt2Codec>(options_, std::move(tokenizer), config.begin, config.shape.vocabulary);
    }

    WeightBlob read_weights(const std::filesystem::path& path) const override {
        return checked(read_checkpoint(path, options_.files.config, options_.files.generation_config));
    }
    WeightBlob random_weights(std::uint64_t seed) const override {
        return checked(random_checkpoint(read_config_or_default(), seed));
    }

    std::unique_ptr<LoadedApp> load(const WeightBlob& weights, Precision precision, DeviceKind kind) const override {
        TokenSampling sampling = options_.sampling;
        sampling.end = options_.stops_at_end ? config_of(weights).end : EndTokens();
        DecoderShape shape = config_of(weights).shape;
        shape.mask = options_.mask;
        if (precision == Precision::certified) {
            return std::make_unique<LoadedCertifiedGpt2>(shape, weights_of(weights), sampling, kind);
        }
        return std::make_unique<LoadedGpt2>(shape, weights_of(weights), sampling, precision, kind);
    }

private:
    /// Before the files that are looked for beside them.
    void refuse_missing_weights() const {
        if (settings_.weights() == nullptr) {
            return;
        }
        const std::filesystem::path& weights = *settings_.weights();
        const OpenedFile opened = open_file(weights);
        if (opened.error != ENOENT && !opened.is_folder()) {
            return;  // whoever reads them finds out
        }
        std::string hint =
            hint_for_missing(fmt::format("{}correct model.weights", where_checkpoints_come_from), weights);
        for (const char* const name : {"model.safetensors.index.json", "model.safetensors"}) {
            const std::filesystem::path other = (opened.is_folder() ? weights : weights.parent_path()) / name;
            std::error_code unknown;
            if (std::filesystem::exists(other, unknown)) {
                hint = fmt::format("name {}, which is there", quoted(other.native()));
            }
        }
        throw Error(
            ExitCode::no_input,
            {.id = "E-MOD-036", .where = escaped(weights.native()), .what = opened.problem(), .hint = std::move(hint)});
    }

    [[nodiscard]] bool needs_config() const {
        const std::filesystem::path* const weights = settings_.weights();
        return weights == nullptr ? options_.files.config.has_value() : has_config(*weights);
    }

    /// Whoever reads the config says what is wrong with it.
    [[nodiscard]] bool may_be_gpt2() const {
        try {
            return !needs_config() ||
                   read_config(options_.files.config.value(), options_.files.generation_config).family == Family::gpt2;
        } catch (const Error&) {
            return true;
        }
    }

    [[nodiscard]] bool needs_tokenizer() const { return !options_.takes_ids || !options_.gives_ids; }

    [[nodiscard]] Config read_config_or_default() const {
        if (needs_config()) {
            return read_config(options_.files.config.value(), options_.files.generation_config);
        }
        refuse_unused_config();
        return default_config();
    }

    void refuse_unused_config() const {
        const bool is_random = settings_.weights() == nullptr;
        for (const char* const name : {"model.config", "model.generation_config"}) {
            if (settings_.find(name) != nullptr) {
                throw Error(ExitCode::configuration,
                            {.id = "E-CFG-105",
                             .where = name,
                             .what = is_random ? "is of a checkpoint, and random weights have none"
                                               : "would not be read: weights without a header are the 124M model's",
                             .hint = is_random ? "remove it, or name a model.config"
                                               : "remove it, or name a safetensors file as model.weights"});
            }
        }
    }

    [[nodiscard]] std::optional<Tokenizer> read_tokenizer(Family family) const {
        const Files& files = options_.files;
        if (!needs_tokenizer()) {
            return std::nullopt;
        }
        if (files.tokenizer) {
            return Tokenizer::from_json(*files.tokenizer);
        }
        if (!files.vocabulary || !files.merges) {
            throw Error(ExitCode::configuration,
                        {.id = "E-CFG-172",
                         .where = "model.tokenizer",
                         .what = "texts need a tokenizer, and random weights have none beside them",
                         .hint = "name one, or set generate.prompts and generate.results to \"ids\""});
        }
        // Others have files of these names too, and cut texts into other words.
        if (family != Family::gpt2) {
            const bool is_named = settings_.find("model.vocabulary") != nullptr;
            throw Error(
                ExitCode::configuration,
                {.id = "E-CFG-175",
                 .where = "model.tokenizer",
                 .what = fmt::format("{}vocab.json and merges.txt do not say how a model that is no GPT-2 cuts texts",
                                     is_named ? "" : "there is no tokenizer.json beside the weights, and "),
                 .hint = "name its tokenizer.json, or set generate.prompts and generate.results to \"ids\""});
        }
        if (settings_.find("model.vocabulary") == nullptr) {
            refuse_added_tokens(files.vocabulary->parent_path() / "added_tokens.json");
        }
        return Tokenizer::from_vocabulary(*files.vocabulary, *files.merges);
    }

    /// Some tokenizers are kept as vocab.json, merges.txt and, if they were given further tokens, this file.
    static void refuse_added_tokens(const std::filesystem::path& file) {
        std::error_code none;
        if (std::filesystem::exists(file, none)) {
            throw Error(ExitCode::bad_data,
                        {.id = "E-TOK-058",
                         .where = escaped(file.native()),
                         .what = "has tokens besides vocab.json's, and does not say which are found in texts",
                         .hint = "name a tokenizer.json, which does, as model.tokenizer; or name model.vocabulary and "
                                 "model.merges, to do without these tokens"});
        }
    }

    /// Refuses weights of a model that is too short for prompts and continuations.
    [[nodiscard]] WeightBlob checked(WeightBlob blob) const {
        const std::uint32_t positions = config_of(blob).shape.positions;
        const TokenSampling& sampling = options_.sampling;
        if (std::uint64_t{sampling.max_prompt} + sampling.max_new > positions) {
            throw Error(
                ExitCode::configuration,
                {.id = "E-CFG-173",
                 .where = "generate.max_prompt_tokens",
                 .what = fmt::format("got {}, beside generate.max_new_tokens = {}, and the model has {} positions",
                                     sampling.max_prompt, sampling.max_new, positions),
                 .hint = "lower one of them"});
        }
        return blob;
    }

    Options options_;
    AppSettings settings_;
};

class Gpt2App final : public App {
public:
    std::string_view name() const noexcept override { return "gpt2"; }
    std::string_view summary() const noexcept override { return "continues prompts: GPT-2, Llama, Mistral, Qwen 2"; }
    std::span<const KeySpec> keys() const noexcept override { return gpt2_keys(); }
    std::map<std::string, std::string> libraries() const override {
        return {{"pcre2", pcre2_version()}, {"utf8proc", normal_form_version()}};
    }
    std::unique_ptr<OpenApp> open(const AppSettings& settings) const override {
        return std::make_unique<OpenGpt2>(settings);
    }
};

}  // namespace

const App& gpt2_app() {
    static const Gpt2App app;
    return app;
}

}  // namespace sluice::gpt2
