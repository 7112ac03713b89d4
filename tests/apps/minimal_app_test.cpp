#include "examples/apps/minimal/minimal_app.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "core/device/host_device.hpp"
#include "core/sync/completion_counter.hpp"
#include "core/transport.hpp"
#include "scheduler/pipeline.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t inputs = 8;
constexpr std::uint32_t classes = 3;

std::string text_of(const std::string& path) {
    std::ifstream file(SLUICE_SOURCE_DIR "/" + path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Hands out its items at once, in chunks, and takes labels in any order.
class MemoryTransport final : public Transport {
public:
    MemoryTransport(std::span<const std::byte> items, std::size_t item_bytes, std::uint32_t chunk_items)
        : labels(items.size() / item_bytes),
          items_(items),
          item_bytes_(item_bytes),
          chunk_items_(chunk_items),
          arrivals_(labels.size() + 2) {
        done_.complete();
    }

    [[nodiscard]] Ticket request(std::span<std::byte> to) override {
        const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(chunk_items_, labels.size() - next_));
        const auto from = items_.subspan(next_ * item_bytes_, count * item_bytes_);
        std::copy(from.begin(), from.end(), to.begin());
        Arrival& arrival = arrivals_[requested_];
        arrival = {{requested_++, next_, count}, Clock::now()};
        next_ += count;
        return {Event(done_, 1), &arrival};
    }
    [[nodiscard]] Event deliver(const Chunk& chunk, std::span<const std::byte> from) override {
        std::memcpy(&labels[chunk.first], from.data(), from.size());
        return {done_, 1};
    }
    [[nodiscard]] Doorbell& bell() noexcept override { return bell_; }

    std::vector<std::int32_t> labels;

private:
    std::span<const std::byte> items_;
    std::size_t item_bytes_;
    std::uint32_t chunk_items_;
    std::uint64_t next_ = 0;
    std::uint64_t requested_ = 0;
    std::vector<Arrival> arrivals_;
    CompletionCounter done_{1};
    Doorbell bell_;
};

std::int32_t plain_label(const WeightBlob& blob, std::string_view text) {
    std::array<float, classes * inputs + classes> weights{};
    std::memcpy(weights.data(), blob.floats().data(), sizeof weights);
    std::array<double, classes> scores{};
    for (std::size_t c = 0; c < classes; ++c) {
        scores[c] = weights[classes * inputs + c];
        for (std::size_t i = 0; i < std::min<std::size_t>(text.size(), inputs); ++i) {
            scores[c] += weights[c * inputs + i] * static_cast<float>(text[i] & 15);
        }
    }
    return static_cast<std::int32_t>(std::distance(scores.begin(), std::ranges::max_element(scores)));
}

TEST(MinimalApp, IsWhatContributingQuotesInFewerThan100Lines) {
    const std::string page = text_of("CONTRIBUTING.md");
    const std::string source = text_of("examples/apps/minimal/minimal_app.cpp");

    EXPECT_FALSE(source.empty());
    EXPECT_NE(page.find("```cpp\n" + source + "```"), std::string::npos);
    EXPECT_LT(std::ranges::count(source, '\n'), 100);
}

TEST(MinimalApp, GivesTheLabelsOfAPlainLoopThroughAPipeline) {
    const auto app = minimal_app().open({});
    const auto codec = app->make_codec();
    const IoShape shape = codec->shape();
    const WeightBlob weights = app->random_weights(17);
    std::vector<std::int32_t> expected;
    std::vector<std::byte> items;
    for (int i = 0; i < 23; ++i) {
        const std::string text = std::to_string(i * 7'654'321);
        std::vector<std::byte> item(shape.input_bytes);
        codec->encode(0, text, item);
        items.insert(items.end(), item.begin(), item.end());
        expected.push_back(plain_label(weights, text));
    }
    HostDevice device;
    const auto loaded = load_alone(*app, weights, Precision::fp32, DeviceKind::host, 1);
    const auto model = loaded->make_model(device, 4);
    MemoryTransport transport(items, shape.input_bytes, 4);
    DeviceTrace trace("host", 7);

    Pipeline(device, transport, *model, {.depth = 2, .chunk_items = 4}, trace).run();

    EXPECT_EQ(transport.labels, expected);
    EXPECT_GT(std::set(expected.begin(), expected.end()).size(), 1U) << "the labels vary";
}

}  // namespace
}  // namespace sluice
