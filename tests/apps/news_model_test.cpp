#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "apps/classifier/classifier_app.hpp"
#include "apps/classifier/classifier_weights.hpp"
#include "core/device/host_device.hpp"
#include "core/weights/packed_weights.hpp"

// examples/models/news.safetensors is what its card says. Figures are PyTorch's, of the same file.

namespace sluice::classifier {
namespace {

const std::string examples = SLUICE_SOURCE_DIR "/examples/";
const std::string weights_path = examples + "models/news.safetensors";

struct NewsResult {
    std::int32_t label;
    std::array<float, 4> scores;
};

std::vector<NewsResult> classify(const std::vector<std::string>& texts) {
    const auto app = open_classifier(true);
    const auto codec = app->make_codec();
    const WeightBlob blob = app->read_weights(weights_path);
    const auto loaded = load_alone(*app, blob, Precision::fp32, DeviceKind::host, 1);
    const IoShape shape = app->shape();
    std::vector<std::byte> items(texts.size() * shape.input_bytes);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        codec->encode(i, texts[i], std::span(items).subspan(i * shape.input_bytes, shape.input_bytes));
    }
    HostDevice device;
    const auto model = loaded->make_model(device, {.most_items = static_cast<std::uint32_t>(texts.size())});
    const auto stream = device.make_stream({});
    std::vector<NewsResult> records(texts.size());
    model->forward(*stream, texts.size(), items, std::as_writable_bytes(std::span(records)));
    stream->record().wait();
    return records;
}

TEST(NewsModel, NamesItsClasses) {
    EXPECT_EQ(read_class_names(weights_path), (std::vector<std::string>{"World", "Sports", "Business", "Sci/Tech"}));
}

TEST(NewsModel, GivesTheScoresThatTorchGives) {
    constexpr double tolerance = 1e-4;  // of fp32 sums of up to 2,176 products, in another order
    const std::vector<std::array<double, 4>> expected{
        {0.19208, -0.00656, 0.46932, -0.94815},  {1.70290, -0.21139, -0.09473, -0.46365},
        {0.56369, -1.17026, 0.03243, 0.30006},   {-0.10537, 0.32080, 0.05658, -0.52285},
        {0.29841, 1.24521, -1.00012, -0.93157},  {-0.86542, 1.35812, -1.16454, -0.28056},
        {-0.76266, 1.45525, -0.61851, -0.78137}, {-0.80154, 1.75129, -0.70847, -1.07319},
        {-0.65920, 0.77177, 0.24624, -0.79895},  {-0.91707, 2.08622, -1.04832, -1.12440},
        {-0.09715, -0.67641, 1.79211, -0.75093}, {-0.57882, -0.96401, 1.64258, -0.05893},
        {-0.27182, -0.66330, 2.09806, -0.94320}, {-0.42822, -0.05643, 0.68205, -0.41129},
        {-0.20288, -0.23900, 0.42230, -0.12732}, {-0.98383, 0.01484, -0.33853, 0.77595},
        {-1.00601, -1.20838, 0.56038, 1.22815},  {-1.01820, -0.51252, -0.18953, 1.30312},
        {-0.31684, -1.60975, 0.90548, 0.60979},  {-1.05971, -0.58455, -0.19719, 1.38776},
    };
    std::ifstream file(examples + "articles.txt");
    std::vector<std::string> texts;
    for (std::string line; std::getline(file, line);) {
        texts.push_back(line);
    }
    ASSERT_EQ(texts.size(), expected.size());

    const std::vector<NewsResult> records = classify(texts);

    for (std::size_t i = 0; i < expected.size(); ++i) {
        for (std::size_t c = 0; c < 4; ++c) {
            EXPECT_NEAR(static_cast<double>(records[i].scores[c]), expected[i][c], tolerance) << texts[i];
        }
    }
}

}  // namespace
}  // namespace sluice::classifier
