#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "core/device/host_stream.hpp"
#include "core/error.hpp"
#include "kernels/host/byte_draw.hpp"
#include "kernels/host/gru.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_operation.hpp"
#include "kernels/philox.hpp"

namespace sluice {
namespace {

// Rows in a step. With fewer, the weights, which every step reads completely, would come from memory too often; with
// more, the rows no longer fit the caches.
constexpr std::size_t most_rows = 192;

constexpr std::uint8_t start_of_text = 1;
constexpr std::uint8_t end_of_text = 0;

/// A text being written; its bytes are in its result.
struct Text {
    std::uint64_t number = 0;
    std::uint32_t length = 0;
    std::uint32_t prefix = 0;
    const float* draws = nullptr;  // null: drawn by `number`
    const std::uint8_t* prefix_bytes = nullptr;
    std::byte* result = nullptr;
    double log_probability = 0;
    TextDoubt* doubt = nullptr;  // null: not wanted

    [[nodiscard]] std::uint8_t* bytes() const { return reinterpret_cast<std::uint8_t*>(result + sizeof(TextEnd)); }
};

class HostGenerator final : public Generator {
public:
    HostGenerator(const HostGru& gru, const Sampling& sampling, std::uint32_t most_items)
        : sampling_(sampling),
          io_(generator_io(sampling.max_length)),
          most_items_(most_items),
          rows_(gru, std::min<std::size_t>(most_items, most_rows) + 1),
          room_(std::min<std::size_t>(most_items, most_rows)),
          first_(sampling),
          draw_(sampling) {
        texts_.reserve(room_);
        last_bytes_.reserve(room_);
        // The step of the start byte, the same for every text, is computed once and kept in the row after the others.
        const std::uint8_t start = start_of_text;
        rows_.step({&start, 1});
        rows_.copy_row(0, room_);
        first_.look_at(rows_.scores(room_));
    }

    using Operation::enqueue;
    void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) override {
        expects(batch.items <= most_items_, "generator: more items than it was made for");
        expects(in.size() == 1 && (out.size() == 1 || out.size() == 2),
                "generator: takes one tensor and makes one or two");
        expects(in[0].size() == batch.items * io_.input_bytes && out[0].size() == batch.items * io_.output_bytes &&
                    (out.size() == 1 || out[1].size() == batch.items * sizeof(TextDoubt)),
                "generator: input or output has the wrong size");
        as_host(stream).run([this, batch, from = in[0].data(), to = out[0].data(),
                             doubts = out.size() == 2 ? reinterpret_cast<TextDoubt*>(out[1].data()) : nullptr] {
            write_texts(active_items(batch), from, to, doubts);
        });
    }

    [[nodiscard]] TextCounts counts() const override { return counts_; }

private:
    void write_texts(std::size_t items, const std::byte* in, std::byte* out, TextDoubt* doubts) {
        std::size_t next = 0;
        const auto fill = [&] {
            while (texts_.size() < room_ && next < items) {
                begin(open(in + next * io_.input_bytes, out + next * io_.output_bytes,
                           doubts == nullptr ? nullptr : doubts + next));
                ++next;
            }
        };
        for (fill(); !texts_.empty(); fill()) {
            rows_.step(last_bytes_);
            for (std::size_t row = 0; row < texts_.size();) {
                draw_.look_at(rows_.scores(row));
                if (append(texts_[row], draw_)) {
                    last_bytes_[row] = texts_[row].bytes()[texts_[row].length - 1];
                    ++row;
                } else {
                    close(row);
                }
            }
        }
    }

    [[nodiscard]] Text open(const std::byte* item, std::byte* result, TextDoubt* doubt) const {
        TextStart start;
        std::memcpy(&start, item, sizeof start);
        const std::byte* const draws = item + sizeof start;
        std::memset(result, 0, io_.output_bytes);
        if (doubt != nullptr) {
            *doubt = {};
        }
        return {.number = start.number,
                .prefix = start.prefix,
                .draws = start.has_draws != 0 ? as_floats(draws) : nullptr,
                .prefix_bytes = reinterpret_cast<const std::uint8_t*>(draws + sampling_.max_length * sizeof(float)),
                .result = result,
                .doubt = doubt};
    }

    /// Chooses the first byte; gives the text a row if it needs another step.
    void begin(Text text) {
        if (!append(text, first_)) {
            finish(text);
            return;
        }
        rows_.copy_row(room_, texts_.size());
        last_bytes_.push_back(text.bytes()[0]);
        texts_.push_back(text);
    }

    /// Returns false if the text is complete.
    [[nodiscard]] bool append(Text& text, const ByteDraw& draw) {
        if (text.length < text.prefix) {
            text.bytes()[text.length] = text.prefix_bytes[text.length];
        } else {
            const float uniform = uniform_of(text);
            const std::uint8_t byte = draw.choose(uniform);
            if (text.doubt != nullptr) {
                *text.doubt = least(*text.doubt, draw.doubt(uniform));
            }
            text.log_probability += draw.log_probability(byte);
            if (byte == end_of_text) {
                ++counts_.ended;
                return false;
            }
            text.bytes()[text.length] = byte;
            ++counts_.new_tokens;
        }
        return ++text.length < sampling_.max_length;
    }

    [[nodiscard]] float uniform_of(const Text& text) const {
        if (text.draws != nullptr) {
            return text.draws[text.length];
        }
        return uniform_below_one(random_words(sampling_.seed, {.item = text.number, .number = text.length}).words[0]);
    }

    void finish(const Text& text) {
        const TextEnd end{.length = static_cast<std::int32_t>(text.length),
                          .log_probability = static_cast<float>(text.log_probability)};
        std::memcpy(text.result, &end, sizeof end);
        ++counts_.texts;
    }

    /// Finishes a text. The last row takes its place, so that steps compute active rows only.
    void close(std::size_t row) {
        finish(texts_[row]);
        const std::size_t last = texts_.size() - 1;
        if (row != last) {
            rows_.copy_row(last, row);
            texts_[row] = texts_[last];
        }
        texts_.pop_back();
        last_bytes_.pop_back();
    }

    Sampling sampling_;
    IoShape io_;
    std::size_t most_items_;
    GruRows rows_;
    std::size_t room_;                      // rows of texts
    std::vector<Text> texts_;               // (rows)
    std::vector<std::uint8_t> last_bytes_;  // (rows)
    ByteDraw first_;                        // after the start byte
    ByteDraw draw_;
    TextCounts counts_;
};

class HostGeneratorLayer final : public GeneratorLayer {
public:
    HostGeneratorLayer(Precision precision, const GruShape& shape, const GruWeights& weights, const Sampling& sampling,
                       PackedWeights& packed)
        : gru_(precision, shape, weights, packed), sampling_(sampling) {}

    std::unique_ptr<Generator> make_generator(Device&, std::uint32_t most_items) const override {
        return std::make_unique<HostGenerator>(gru_, sampling_, most_items);
    }

    std::uint64_t work_bytes(std::uint32_t most_items) const override {
        return GruRows::bytes(gru_.shape(), std::min<std::size_t>(most_items, most_rows) + 1);
    }

private:
    HostGru gru_;
    Sampling sampling_;
};

}  // namespace

std::unique_ptr<GeneratorLayer> make_host_gru_generator(Precision precision, const GruShape& shape,
                                                        const GruWeights& weights, const Sampling& sampling,
                                                        PackedWeights& packed) {
    return std::make_unique<HostGeneratorLayer>(precision, shape, weights, sampling, packed);
}

}  // namespace sluice
