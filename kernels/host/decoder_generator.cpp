#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/device/host_stream.hpp"
#include "core/error.hpp"
#include "kernels/host/host_decoder.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_operation.hpp"
#include "kernels/host/token_draw.hpp"
#include "kernels/philox.hpp"
#include "kernels/rotary.hpp"

namespace sluice {
namespace {

// Rows of a pass, of prefill and decode. With fewer, the weights, which every pass reads completely, would come from
// memory too often; with more, the rows no longer fit the caches.
constexpr std::size_t usual_rows = 192;
constexpr std::size_t most_texts = 96;  // at a time; leaves half of the rows to prompts

/// Enough cache for most_texts texts of ordinary length; longer ones share it.
constexpr std::uint64_t wanted_cache_bytes = std::uint64_t{1} << 30U;

/// A text being continued; its tokens are in its result.
struct Text {
    std::uint64_t number = 0;
    std::span<const std::uint32_t> prompt;
    std::byte* result = nullptr;
    ContinuationStart start;
    bool is_cut = false;
    std::uint32_t in_cache = 0;  // tokens, or of another text's rows that come first
    std::vector<KeyValueCache::Page> pages;

    [[nodiscard]] std::uint32_t* tokens() const {
        return reinterpret_cast<std::uint32_t*>(result + sizeof(ContinuationStart));
    }
    [[nodiscard]] std::span<const std::uint32_t> made() const { return {tokens(), start.tokens}; }
    [[nodiscard]] std::uint32_t length() const { return static_cast<std::uint32_t>(prompt.size()) + start.tokens; }
    [[nodiscard]] std::uint32_t token(std::uint32_t position) const {
        return position < prompt.size() ? prompt[position] : tokens()[position - prompt.size()];
    }
};

std::size_t pages_of(std::size_t prompt, const TokenSampling& sampling) {
    return KeyValueCache::pages_for(prompt + sampling.max_new - 1);  // the last token is never read
}

/// A prompt that sees itself whole has to be in one pass.
std::size_t most_rows(const DecoderShape& shape, const TokenSampling& sampling) {
    return shape.mask == AttentionMask::causal ? usual_rows : std::max<std::size_t>(usual_rows, sampling.max_prompt);
}

std::uint64_t rows_bytes(const DecoderShape& shape, const TokenSampling& sampling, std::size_t texts) {
    return DecoderRows::bytes(shape, most_rows(shape, sampling), texts);
}

std::size_t texts_at_a_time(std::uint32_t most_items) {
    return std::clamp<std::size_t>(most_items, 1, most_texts);
}

/// Pages of the cache: enough for the longest text, at most what all texts at a time can fill.
std::size_t cache_pages(const DecoderShape& shape, const TokenSampling& sampling, std::uint32_t most_items,
                        std::uint64_t device_bytes) {
    const std::size_t texts = texts_at_a_time(most_items);
    const std::uint64_t left = std::min(device_bytes - rows_bytes(shape, sampling, texts), wanted_cache_bytes);
    const std::size_t longest = pages_of(sampling.max_prompt, sampling);
    return std::clamp<std::size_t>(left / KeyValueCache::page_bytes(shape), longest, longest * texts);
}

class HostDecoderOperation final : public Decoder {
public:
    HostDecoderOperation(const HostDecoder& decoder, const TokenSampling& sampling, std::uint32_t most_items,
                         std::uint64_t device_bytes)
        : sampling_(sampling),
          io_(decoder_io(sampling)),
          most_items_(most_items),
          room_(texts_at_a_time(most_items)),
          cache_(decoder.shape(), cache_pages(decoder.shape(), sampling, most_items, device_bytes)),
          vocabulary_(decoder.shape().vocabulary),
          mask_(decoder.shape().mask),
          most_rows_(most_rows(decoder.shape(), sampling)),
          rows_(decoder, cache_, most_rows_, room_),
          draw_(sampling, decoder.shape().vocabulary) {
        texts_.reserve(room_);
        pass_.reserve(most_rows_);
    }

    using Operation::enqueue;
    void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) override {
        expects(batch.items <= most_items_, "decoder: more items than it was made for");
        expects(in.size() == 1 && out.size() == 1, "decoder: takes one tensor and makes one");
        expects(in[0].size() == batch.items * io_.input_bytes && out[0].size() == batch.items * io_.output_bytes,
                "decoder: input or output has the wrong size");
        HostStream& host = as_host(stream);
        host.run([this, batch, from = in[0].data(), to = out[0].data()] {
            waiting_ = {.items = active_items(batch), .in = from, .out = to};
            open_texts();
        });
        const auto pass = [&] { host.run([this] { continue_texts(); }); };
        host.loop(&is_open_, std::numeric_limits<std::uint32_t>::max(), pass);  // by passes, to be seen to move
    }

    [[nodiscard]] TextCounts counts() const override { return counts_; }

private:
    /// Items of a chunk whose texts are not open yet.
    struct Waiting {
        std::size_t items = 0;
        const std::byte* in = nullptr;
        std::byte* out = nullptr;
    };

    void open_texts() {
        while (texts_.size() < room_ && waiting_.items > 0 && open(waiting_.in, waiting_.out)) {
            --waiting_.items;
            waiting_.in += io_.input_bytes;
            waiting_.out += io_.output_bytes;
        }
        is_open_ = texts_.empty() ? 0 : 1;
    }

    void continue_texts() {
        collect_rows();
        rows_.pass(pass_);
        take_scores();
        open_texts();
    }

    /// Returns false if the cache has no room for it yet.
    [[nodiscard]] bool open(const std::byte* item, std::byte* result) {
        PromptStart start;
        std::memcpy(&start, item, sizeof start);
        expects(start.tokens >= 1 && start.tokens <= sampling_.max_prompt,
                "decoder: a prompt of 1 to max_prompt tokens");
        const std::span prompt(reinterpret_cast<const std::uint32_t*>(item + sizeof start), start.tokens);
        const std::span<const KeyValueCache::Page> shared = pages_to_share(prompt);
        const std::size_t own_pages = pages_of(start.tokens, sampling_) - shared.size();
        if (own_pages > cache_.free_pages()) {
            return false;
        }
        std::memset(result, 0, io_.output_bytes);
        std::vector<KeyValueCache::Page> pages(shared.begin(), shared.end());
        cache_.share(pages);
        const std::vector<KeyValueCache::Page> own = cache_.take(own_pages);
        pages.insert(pages.end(), own.begin(), own.end());
        const auto in_cache = static_cast<std::uint32_t>(shared.size() * cache_page);
        counts_.shared += in_cache;
        texts_.push_back({.number = start.number,
                          .prompt = prompt,
                          .result = result,
                          .start = {.prompt = start.tokens},
                          .is_cut = start.is_cut != 0,
                          .in_cache = in_cache,
                          .pages = std::move(pages)});
        return true;
    }

    /// The most pages of an open text that a prompt begins with, too, before its last token. That text's rows come
    /// first, so that the pages are filled before this one's rows attend to them. None where a prompt's keys and values
    /// depend on what follows.
    [[nodiscard]] std::span<const KeyValueCache::Page> pages_to_share(std::span<const std::uint32_t> prompt) const {
        std::span<const KeyValueCache::Page> shared;
        if (mask_ != AttentionMask::causal) {
            return shared;
        }
        const std::span<const std::uint32_t> most = prompt.first(prompt.size() - 1);
        for (const Text& text : texts_) {
            const auto same = std::ranges::mismatch(most, text.prompt).in1 - most.begin();
            const std::size_t pages = static_cast<std::size_t>(same) / cache_page;
            if (pages > shared.size()) {
                shared = std::span(text.pages).first(pages);
            }
        }
        return shared;
    }

    /// A decode row for each text that has new tokens, then prefill rows of the others while there is room.
    void collect_rows() {
        pass_.clear();
        scored_.clear();
        for (const bool begun : {true, false}) {
            for (std::size_t i = 0; i < texts_.size(); ++i) {
                if (begun == (texts_[i].start.tokens > 0)) {
                    collect_rows(i);
                }
            }
        }
    }

    void collect_rows(std::size_t i) {
        Text& text = texts_[i];
        const auto whole = mask_ == AttentionMask::causal ? 0 : static_cast<std::uint32_t>(text.prompt.size());
        if (text.in_cache < whole && whole > most_rows_ - pass_.size()) {
            return;
        }
        for (; text.in_cache < text.length() && pass_.size() < most_rows_; ++text.in_cache) {
            const bool is_last = text.in_cache + 1 == text.length();
            pass_.push_back({.pages = text.pages,
                             .position = text.in_cache,
                             .token = text.token(text.in_cache),
                             .wants_scores = is_last,
                             .attended = std::max(text.in_cache + 1, whole)});
            if (is_last) {
                scored_.push_back(i);
            }
        }
    }

    void take_scores() {
        for (std::size_t wanted = 0; wanted < scored_.size(); ++wanted) {
            append(texts_[scored_[wanted]], {rows_.scores(wanted), vocabulary_});
        }
        const auto complete = [this](const Text& text) {
            return text.start.has_end != 0 || text.start.tokens == sampling_.max_new;
        };
        for (const Text& text : texts_) {
            if (complete(text)) {
                finish(text);
            }
        }
        std::erase_if(texts_, complete);
    }

    void append(Text& text, std::span<const float> scores) {
        text.start.nonfinite |= std::ranges::all_of(scores, [](float score) { return std::isfinite(score); }) ? 0U : 1U;
        const float uniform = uniform_below_one(
            random_words(sampling_.seed, {.item = text.number, .number = text.start.tokens}).words[0]);
        const std::uint32_t token = draw_.choose(scores, {text.prompt, text.made()}, uniform);
        if (sampling_.end.contains(token)) {
            text.start.has_end = 1;
            return;
        }
        text.tokens()[text.start.tokens] = token;
        if (sampling_.log_probabilities) {
            const float value = draw_.log_probability(scores, token);
            std::memcpy(text.tokens() + sampling_.max_new + text.start.tokens, &value, sizeof value);
        }
        ++text.start.tokens;
    }

    void finish(const Text& text) {
        std::memcpy(text.result, &text.start, sizeof text.start);
        cache_.give_back(text.pages);
        ++counts_.texts;
        counts_.prompt_tokens += text.prompt.size();
        counts_.new_tokens += text.start.tokens;
        counts_.ended += text.start.has_end;
        counts_.cut += text.is_cut ? 1U : 0U;
    }

    TokenSampling sampling_;
    IoShape io_;
    std::size_t most_items_;
    std::size_t room_;
    KeyValueCache cache_;
    std::size_t vocabulary_;
    AttentionMask mask_;
    std::size_t most_rows_;  // of a pass
    DecoderRows rows_;
    TokenDraw draw_;
    Waiting waiting_;
    std::vector<Text> texts_;
    std::uint32_t is_open_ = 0;  // 1: some text is
    std::vector<DecoderRow> pass_;
    std::vector<std::size_t> scored_;  // texts, in the order of the rows that want scores
    TextCounts counts_;
};

class HostDecoderLayer final : public DecoderLayer {
public:
    HostDecoderLayer(Precision precision, const DecoderShape& shape, const DecoderWeights& weights,
                     const TokenSampling& sampling, PackedWeights& packed)
        : decoder_(precision, shape_for_texts(shape, sampling.max_prompt + std::uint64_t{sampling.max_new}), weights,
                   packed),
          sampling_(sampling) {
        expects(sampling.kv_cache == KvCache::as_computed, "decoder: the host keeps keys and values in fp32 only");
    }

    std::unique_ptr<Decoder> make_decoder(Device&, std::uint32_t most_items,
                                          std::uint64_t device_bytes) const override {
        return std::make_unique<HostDecoderOperation>(decoder_, sampling_, most_items, device_bytes);
    }

    std::uint64_t least_bytes(std::uint32_t most_items) const override {
        return rows_bytes(decoder_.shape(), sampling_, texts_at_a_time(most_items)) +
               pages_of(sampling_.max_prompt, sampling_) * KeyValueCache::page_bytes(decoder_.shape());
    }

    std::uint64_t bytes(Device&, std::uint32_t most_items, std::uint64_t device_bytes) const override {
        return rows_bytes(decoder_.shape(), sampling_, texts_at_a_time(most_items)) +
               cache_pages(decoder_.shape(), sampling_, most_items, device_bytes) *
                   KeyValueCache::page_bytes(decoder_.shape());
    }

private:
    HostDecoder decoder_;
    TokenSampling sampling_;
};

}  // namespace

std::unique_ptr<DecoderLayer> make_host_decoder(Precision precision, const DecoderShape& shape,
                                                const DecoderWeights& weights, const TokenSampling& sampling,
                                                PackedWeights& packed) {
    return std::make_unique<HostDecoderLayer>(precision, shape, weights, sampling, packed);
}

}  // namespace sluice
