#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "apps/namegen/namegen_app.hpp"
#include "apps/namegen/namegen_weights.hpp"
#include "core/config/schema.hpp"
#include "core/device/host_device.hpp"
#include "core/weights/packed_weights.hpp"
#include "tests/apps/name_trigram.hpp"
#include "tests/support/gru_reference.hpp"

// examples/models/names.safetensors is what its card says. Figures without a source are PyTorch's, of the same file.

namespace sluice::namegen {
namespace {

constexpr std::uint64_t max_length = 15;
constexpr const char* weights_path = SLUICE_SOURCE_DIR "/examples/models/names.safetensors";

struct Name {
    std::string text;
    double log_probability = 0;
};

double mean_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double length_with_end(const std::vector<std::string>& names) {
    double length = 0;
    for (const std::string& name : names) {
        length += static_cast<double>(name.size()) + 1;
    }
    return length;
}

class NamesModel : public testing::Test {
protected:
    static std::vector<Name> samples() { return write(1.0, std::vector<std::string>(sample_count)); }

    /// A name for each prefix, by the app on a host device.
    static std::vector<Name> write(double temperature, const std::vector<std::string>& prefixes) {
        AppSettings settings = default_settings(namegen_app().keys());
        settings.set("generate.max_length", max_length);
        settings.set("generate.temperature", temperature);
        const auto app = namegen_app().open(settings);
        const auto codec = app->make_codec();
        const IoShape shape = app->shape();
        std::vector<std::byte> in(prefixes.size() * shape.input_bytes);
        std::vector<std::byte> out(prefixes.size() * shape.output_bytes);
        for (std::size_t i = 0; i < prefixes.size(); ++i) {
            codec->encode(i, prefixes[i], std::span(in).subspan(i * shape.input_bytes, shape.input_bytes));
        }
        HostDevice device;
        const auto loaded = load_alone(*app, blob(), Precision::fp32, DeviceKind::host, 1);
        const auto model = loaded->make_model(device, {.most_items = static_cast<std::uint32_t>(prefixes.size())});
        const auto stream = device.make_stream({});
        model->forward(*stream, prefixes.size(), in, out);
        stream->record().wait();
        std::vector<Name> names;
        for (std::size_t at = 0; at < out.size(); at += shape.output_bytes) {
            TextEnd end;
            std::memcpy(&end, &out[at], sizeof end);
            names.push_back({std::string(reinterpret_cast<const char*>(&out[at + sizeof end]),
                                         static_cast<std::size_t>(end.length)),
                             static_cast<double>(end.log_probability)});
        }
        return names;
    }

    static const WeightBlob& blob() {
        static const WeightBlob read = read_namegen_weights(weights_path);
        return read;
    }

    static constexpr std::size_t sample_count = 2000;
};

TEST_F(NamesModel, IsOfTheSizesOfItsCard) {
    EXPECT_EQ(shape_of_namegen(blob()), (GruShape{.embedding = 64, .hidden = 192, .layers = 2}));
}

TEST_F(NamesModel, ContinuesALetterAsTorchDoes) {
    // The likeliest byte each time; no runner-up was closer than 0.01 in log-probability.
    const std::vector<std::pair<const char*, double>> expected{
        {"Analissa", -7.69944}, {"Brinnley", -7.09142}, {"Carleen", -6.77659},        {"Dariana", -6.52001},
        {"Elianna", -6.33233},  {"Isabella", -4.49601}, {"Jayleigh", -7.02191},       {"Kayleen", -7.62508},
        {"Mariana", -7.40179},  {"Natalia", -6.59076},  {"Oluwatomilion", -10.38414}, {"Quinten", -4.58293},
        {"Samaria", -7.70207},  {"Talia", -6.49424},    {"Ulissa", -5.88536},         {"Yarielle", -6.68970}};
    std::vector<std::string> letters;
    for (const auto& [name, log_probability] : expected) {
        letters.emplace_back(1, name[0]);
    }

    const std::vector<Name> written = write(0.0, letters);

    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(written[i].text, expected[i].first);
        EXPECT_NEAR(written[i].log_probability, expected[i].second, 1e-3);  // fp32 sums over up to 14 bytes
    }
}

TEST_F(NamesModel, SamplesWhatItsCardSays) {
    std::set<std::string> different;
    std::vector<double> lengths;
    std::vector<double> log_probabilities;
    std::size_t capitalised = 0;
    for (const Name& name : samples()) {
        different.insert(name.text);
        lengths.push_back(static_cast<double>(name.text.size()));
        log_probabilities.push_back(name.log_probability);
        const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
        capitalised += !name.text.empty() && name.text[0] >= 'A' && name.text[0] <= 'Z' &&
                       std::all_of(name.text.begin() + 1, name.text.end(), is_small);
    }

    // Of 20,000 samples; the tolerances are five standard errors of 2,000.
    EXPECT_NEAR(mean_of(lengths), 6.01, 0.16);
    EXPECT_NEAR(mean_of(log_probabilities), -13.26, 0.36);
    EXPECT_NEAR(static_cast<double>(different.size()) / sample_count, 0.986, 0.014);
    EXPECT_NEAR(static_cast<double>(capitalised) / sample_count, 0.9988, 0.004);
}

/// The names that it was trained on, where somebody has them.
class NamesModelWithItsData : public NamesModel {
protected:
    void SetUp() override {
        const char* path = std::getenv("SLUICE_NAMES");
        if (path == nullptr) {
            GTEST_SKIP() << "set SLUICE_NAMES to the file names.txt of karpathy/makemore, which is not in this project";
        }
        names_ = test::split_names(path);
        ASSERT_EQ(names_.train.size(), 26'619U) << path;
        ASSERT_EQ(names_.test.size(), 1'440U) << path;
    }

    test::SplitNames names_;
};

TEST_F(NamesModelWithItsData, IsBetterThanATrigramModelOnNamesThatItHasNotSeen) {
    const test::NameTrigram trigram(names_.train, 0.65);
    double of_trigram = 0;
    for (const std::string& name : names_.test) {
        of_trigram += trigram.log_likelihood(name);
    }
    EXPECT_NEAR(of_trigram / length_with_end(names_.test), -2.17785, 1e-4);  // by tools/train/trigram.py

    names_.test.resize(50);
    double of_model = 0;
    of_trigram = 0;
    for (const std::string& name : names_.test) {
        of_model += test::reference_log_likelihood(shape_of_namegen(blob()), namegen_weights(blob()), name);
        of_trigram += trigram.log_likelihood(name);
    }
    EXPECT_NEAR(of_model / length_with_end(names_.test), -1.70124, 1e-3);  // by torch
    EXPECT_GT(of_model, of_trigram + 0.15 * length_with_end(names_.test));
}

TEST_F(NamesModelWithItsData, WritesMostlyNamesThatItHasNotSeen) {
    const std::set<std::string> known(names_.train.begin(), names_.train.end());
    const std::vector<Name> written = samples();

    const auto unknown = std::ranges::count_if(written, [&](const Name& name) { return !known.contains(name.text); });

    // Of 10,000 samples; five standard errors of 2,000.
    EXPECT_NEAR(static_cast<double>(unknown) / sample_count, 0.66, 0.053);
}

}  // namespace
}  // namespace sluice::namegen
