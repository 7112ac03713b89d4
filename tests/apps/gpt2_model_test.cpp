// examples/models/gpt2 continues texts as PyTorch does with the same file (tools/train/gpt2_model.py, fp32, greedy).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "apps/gpt2/gpt2_app.hpp"
#include "core/config/config.hpp"
#include "core/device/host_device.hpp"
#include "core/weights/packed_weights.hpp"
#include "kernels/decoder.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t new_tokens = 24;

/// Takes the values of a row.
class Values final : public Row {
public:
    void int32(std::int32_t value) override { numbers.push_back(value); }
    void float32(float value) override { log_probability = value; }
    void text(std::string_view bytes) override { continuation = bytes; }
    void missing() override { FAIL(); }
    void fixed(std::span<const std::byte>) override { FAIL(); }

    std::string continuation;
    std::vector<std::int32_t> numbers;
    float log_probability = 0;
};

struct Continued {
    const char* prompt;
    const char* text;
    int prompt_tokens;
    double log_probability;
};

TEST(Gpt2Model, ContinuesTextsAsPyTorchDoes) {
    const std::vector<Continued> expected{
        {"The function returns", " the `napi_create_external`.\nThe `napi_create_external", 4, -20.1394},
        {"If the file does not exist, the", "n the file is not existing the file descriptor.\n* `......", 10, -28.0977},
        {"Opens a file and", " the file descriptor.\n* `..............", 7, -28.7034},
        {"When the stream is closed,", " the stream will be written to the stream.\nThe `stream.pipeline` method can",
         10, -23.7822},
        {"The `options` object", " is a string, or `options.statCode` is a string, or `Buffer` is returned", 5,
         -27.3117},
    };
    AppSettings settings = default_settings(gpt2::gpt2_app().keys());
    const std::string weights = SLUICE_SOURCE_DIR "/examples/models/gpt2/model.safetensors";
    settings.set_weights(weights);
    settings.set("generate.max_prompt_tokens", std::uint64_t{32});
    settings.set("generate.max_new_tokens", new_tokens);
    settings.set("generate.log_probability", true);
    const auto app = gpt2::gpt2_app().open(settings);
    const auto codec = app->make_codec();
    const IoShape shape = app->shape();
    std::vector<std::byte> in(expected.size() * shape.input_bytes);
    std::vector<std::byte> out(expected.size() * shape.output_bytes);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        codec->encode(i, expected[i].prompt, std::span(in).subspan(i * shape.input_bytes, shape.input_bytes));
    }
    HostDevice device;
    const auto loaded = load_alone(*app, app->read_weights(weights), Precision::fp32, DeviceKind::host, 1);
    const auto items = static_cast<std::uint32_t>(expected.size());
    const auto model = loaded->make_model(device, {.most_items = items, .device_bytes = std::uint64_t{1} << 26U});
    const auto stream = device.make_stream({});

    model->forward(*stream, expected.size(), in, out);
    stream->record().wait();

    for (std::size_t i = 0; i < expected.size(); ++i) {
        Values row;
        codec->decode(std::span(out).subspan(i * shape.output_bytes, shape.output_bytes), row);
        EXPECT_EQ(row.continuation, expected[i].text);
        EXPECT_EQ(row.numbers, (std::vector<std::int32_t>{expected[i].prompt_tokens, new_tokens}));
        EXPECT_NEAR(row.log_probability, expected[i].log_probability, 1e-3);  // of 24 tokens, fp32 in another order
    }
}

/// Copies of prompts that begin as no other: chunks of different prompts are timed.
TEST(Gpt2Model, MakesOtherPromptsOfCopies) {
    AppSettings settings = default_settings(gpt2::gpt2_app().keys());
    const std::string weights = SLUICE_SOURCE_DIR "/examples/models/gpt2/model.safetensors";
    settings.set_weights(weights);
    settings.set("generate.max_prompt_tokens", std::uint64_t{32});
    settings.set("generate.max_new_tokens", new_tokens);
    const auto app = gpt2::gpt2_app().open(settings);
    const auto codec = app->make_codec();
    const std::size_t bytes = app->shape().input_bytes;
    std::vector<std::byte> items(2 * bytes);
    codec->encode(0, "If the file does not exist, the", std::span(items).first(bytes));
    codec->encode(1, "Opens", std::span(items).last(bytes));
    const auto loaded = load_alone(*app, app->read_weights(weights), Precision::fp32, DeviceKind::host, 1);
    const auto token = [bytes](const std::vector<std::byte>& of, std::size_t item, std::size_t number) {
        std::uint32_t value = 0;
        std::memcpy(&value, &of[item * bytes + sizeof(PromptStart) + number * sizeof value], sizeof value);
        return value;
    };
    std::set<std::uint32_t> firsts{token(items, 0, 0), token(items, 1, 0)};
    const std::uint32_t copies = 100;
    for (std::uint32_t copy = 1; copy <= copies; ++copy) {
        std::vector<std::byte> others = items;

        loaded->vary_copies(others, copy);

        firsts.insert(token(others, 0, 0));
        EXPECT_LT(token(others, 0, 0), 768U);  // its vocabulary
        EXPECT_NE(token(others, 1, 0), token(items, 1, 0));
        EXPECT_EQ(token(others, 0, 1), token(items, 0, 1));
        std::memcpy(&others[sizeof(PromptStart)], &items[sizeof(PromptStart)], sizeof(std::uint32_t));
        EXPECT_TRUE(std::ranges::equal(std::span(others).first(bytes), std::span(items).first(bytes)));
    }
    EXPECT_GE(firsts.size(), copies + 1);
}

}  // namespace
}  // namespace sluice
