#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "apps/classifier/classifier_app.hpp"
#include "apps/classifier/classifier_weights.hpp"
#include "core/device/host_device.hpp"
#include "core/error.hpp"
#include "core/weights/packed_weights.hpp"
#include "kernels/dense.hpp"
#include "tests/support/classifier_reference.hpp"
#include "tests/support/host_precisions.hpp"
#include "tests/support/safetensors_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::classifier {
namespace {

constexpr std::size_t item_bytes = 1014;
constexpr std::size_t classes = 4;
constexpr std::size_t item_count = 100;
constexpr std::uint64_t seed = 17;

struct Record {
    std::int32_t label;
    float scores[classes];
    friend bool operator==(const Record&, const Record&) = default;
};
static_assert(sizeof(Record) == 20);

/// Words of random letters, as text is: spaces, digits, a comma and a full stop now and then.
std::string random_text(std::mt19937& bits, std::size_t characters) {
    constexpr std::string_view often = "eeetttaaooiinnsshhrrdlcumwfgypbvk     ,.0'ATS";
    std::string text(characters, ' ');
    std::generate(text.begin(), text.end(), [&] { return often[bits() % often.size()]; });
    return text;
}

/// A host device that counts what is allocated as device memory.
class CountingDevice final : public HostDevice {
public:
    [[nodiscard]] Buffer allocate(MemorySpace space, std::size_t bytes) override {
        device_bytes += space == MemorySpace::device ? bytes : 0;
        return HostDevice::allocate(space, bytes);
    }

    std::uint64_t device_bytes = 0;
};

/// A model with random weights and texts of many lengths, made once for all tests.
class ClassifierModel : public testing::Test {
protected:
    static void SetUpTestSuite() {
        const auto app = open_classifier(true);
        const auto codec = app->make_codec();
        blob_ = new WeightBlob(app->random_weights(seed));
        loaded_ = load_alone(*app, *blob_, Precision::fp32, DeviceKind::host, 2).release();
        std::mt19937 bits(7);
        std::vector<std::string> texts{"", "x", random_text(bits, 1014), random_text(bits, 5000)};
        for (std::size_t characters = 20; texts.size() < item_count; characters += 16) {
            texts.push_back(random_text(bits, characters));
        }
        items_ = new std::vector<std::byte>(texts.size() * item_bytes);
        for (std::size_t i = 0; i < texts.size(); ++i) {
            codec->encode(i, texts[i], std::span(*items_).subspan(i * item_bytes, item_bytes));
        }
    }
    static void TearDownTestSuite() {
        delete items_;
        delete loaded_;
        delete blob_;
    }

    /// Results of items [0, count) as one chunk; `poison` is what the output holds before.
    static std::vector<Record> run(std::size_t count, std::uint32_t most_items, int poison = 0xff) {
        HostDevice device;
        const auto model = loaded_->make_model(device, {.most_items = most_items});
        const auto stream = device.make_stream({});
        const Buffer in = device.allocate(MemorySpace::device, count * item_bytes);
        const Buffer out = device.allocate(MemorySpace::device, count * sizeof(Record));
        std::copy_n(items_->begin(), in.bytes().size(), in.bytes().begin());
        std::fill(out.bytes().begin(), out.bytes().end(), static_cast<std::byte>(poison));

        model->forward(*stream, count, in.bytes(), out.bytes());
        stream->record().wait();
        std::vector<Record> records(count);
        std::copy_n(out.bytes().begin(), out.bytes().size(), std::as_writable_bytes(std::span(records)).begin());
        return records;
    }

    static std::span<const std::uint8_t> symbols(std::size_t item) {
        return {reinterpret_cast<const std::uint8_t*>(items_->data()) + item * item_bytes, item_bytes};
    }
    static std::span<const float> weights() { return ClassifierWeights(*blob_).values(); }

    static inline WeightBlob* blob_ = nullptr;
    static inline LoadedApp* loaded_ = nullptr;
    static inline std::vector<std::byte>* items_ = nullptr;
};

struct Distance {
    double squares = 0;
    double norm = 0;

    void add(double got, double want) {
        squares += (got - want) * (got - want);
        norm += want * want;
    }
    [[nodiscard]] double relative() const { return std::sqrt(squares / norm); }
};

TEST_F(ClassifierModel, AgreesWithAnIndependentReference) {
    constexpr std::size_t compared =
        10;  // the reference takes its time; empty, 1, 1014 and 5000 characters are among them
    constexpr double tolerance = 1e-4;  // of two fp32 computations, and fp64 shows that neither is off on its own

    const auto records = run(compared, 16);

    Distance all;
    for (std::size_t i = 0; i < compared; ++i) {
        const auto plain = classifier_reference<float>(weights(), symbols(i));
        const auto exact = classifier_reference<double>(weights(), symbols(i));
        Distance ours;
        Distance ours_exact;
        Distance plain_exact;
        for (std::size_t c = 0; c < classes; ++c) {
            const double score = records[i].scores[c];
            all.add(score, plain[c]);
            ours.add(score, plain[c]);
            ours_exact.add(score, exact[c]);
            plain_exact.add(plain[c], exact[c]);
        }
        EXPECT_LT(ours.relative(), tolerance) << "item " << i;
        EXPECT_LT(ours_exact.relative(), tolerance) << "item " << i;
        EXPECT_LT(plain_exact.relative(), tolerance) << "item " << i;
        EXPECT_EQ(records[i].label, std::max_element(plain.begin(), plain.end()) - plain.begin()) << "item " << i;
    }
    EXPECT_LT(all.relative(), tolerance);
}

TEST_F(ClassifierModel, GivesLabelsThatVary) {
    const auto records = run(64, 64);

    std::array<int, classes> counts{};
    for (const Record& record : records) {
        ASSERT_GE(record.label, 0);
        ASSERT_LT(record.label, static_cast<int>(classes));
        ++counts[static_cast<std::size_t>(record.label)];
        EXPECT_EQ(record.label, std::max_element(record.scores, record.scores + classes) - record.scores);
    }
    EXPECT_LT(*std::max_element(counts.begin(), counts.end()), 45);  // 70 % of 64
    EXPECT_GE(std::count_if(counts.begin(), counts.end(), [](int count) { return count > 0; }), 3);
}

/// Results of all items, in chunks of `chunk_items` that take them in `order`.
std::vector<Record> run_in_chunks(const LoadedApp& loaded, std::span<const std::byte> items,
                                  std::span<const std::size_t> order, std::uint32_t chunk_items) {
    HostDevice device;
    const auto model = loaded.make_model(device, {.most_items = chunk_items});
    const auto stream = device.make_stream({});
    std::vector<Record> records(order.size());
    for (std::size_t first = 0; first < order.size(); first += chunk_items) {
        const auto chunk = order.subspan(first, std::min<std::size_t>(chunk_items, order.size() - first));
        std::vector<std::byte> in;
        for (const std::size_t i : chunk) {
            const auto item = items.subspan(i * item_bytes, item_bytes);
            in.insert(in.end(), item.begin(), item.end());
        }
        std::vector<Record> out(chunk.size());
        model->forward(*stream, chunk.size(), in, std::as_writable_bytes(std::span(out)));
        stream->record().wait();
        for (std::size_t i = 0; i < chunk.size(); ++i) {
            records[chunk[i]] = out[i];
        }
    }
    return records;
}

TEST_F(ClassifierModel, GivesAnItemTheSameBitsInAnyChunkAndPlace) {
    std::vector<std::size_t> order(item_count);
    std::iota(order.begin(), order.end(), 0);
    const auto expected = run_in_chunks(*loaded_, *items_, order, item_count);

    for (const std::uint32_t chunk_items : {1U, 7U, 32U, 100U}) {
        std::shuffle(order.begin(), order.end(), std::mt19937(chunk_items));
        const auto records = run_in_chunks(*loaded_, *items_, order, chunk_items);
        for (std::size_t i = 0; i < item_count; ++i) {
            EXPECT_EQ(std::memcmp(&records[i], &expected[i], sizeof(Record)), 0) << i << ", chunks of " << chunk_items;
        }
    }
}

TEST_F(ClassifierModel, GivesTheSameBitsWhateverItWasMadeFor) {
    for (const std::size_t count : {1U, 7U, 31U, 64U}) {
        const auto first = run(count, static_cast<std::uint32_t>(count));
        const auto second = run(count, 100, 0x11);

        EXPECT_EQ(std::memcmp(first.data(), second.data(), count * sizeof(Record)), 0) << count;
    }
}

TEST_F(ClassifierModel, GivesTheSameBitsOnTwoDevicesAtOnce) {
    std::vector<Record> left;
    std::vector<Record> right;

    std::thread other([&] { left = run(20, 20); });
    right = run(20, 20, 0x22);
    other.join();

    EXPECT_EQ(std::memcmp(left.data(), right.data(), left.size() * sizeof(Record)), 0);
}

TEST_F(ClassifierModel, DoesNothingForNoItems) {
    EXPECT_TRUE(run(0, 4).empty());
}

TEST_F(ClassifierModel, RefusesMoreItemsThanItWasMadeForAndWrongSizes) {
    HostDevice device;
    const auto model = loaded_->make_model(device, {.most_items = 2});
    const auto stream = device.make_stream({});
    const Buffer in = device.allocate(MemorySpace::device, 3 * item_bytes);
    const Buffer out = device.allocate(MemorySpace::device, 3 * sizeof(Record));

    EXPECT_EQ(model->shape(), (IoShape{item_bytes, sizeof(Record)}));
    EXPECT_THROW(model->forward(*stream, 3, in.bytes(), out.bytes()), ContractViolation);
    EXPECT_THROW(model->forward(*stream, 2, in.bytes(), out.bytes()), ContractViolation);
}

TEST_F(ClassifierModel, WithoutScoresGivesTheSameLabels) {
    HostDevice device;
    const auto plain = load_alone(*open_classifier(false), *blob_, Precision::fp32, DeviceKind::host, 1);
    const auto model = plain->make_model(device, {.most_items = 5});
    const auto stream = device.make_stream({});
    const Buffer in = device.allocate(MemorySpace::device, 5 * item_bytes);
    const Buffer out = device.allocate(MemorySpace::device, 5 * sizeof(std::int32_t));
    std::memcpy(in.bytes().data(), items_->data(), in.bytes().size());

    model->forward(*stream, 5, in.bytes(), out.bytes());
    stream->record().wait();

    const auto records = run(5, 5);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(out.as<std::int32_t>()[i], records[i].label);
    }
}

TEST_F(ClassifierModel, AllocatesAsMuchForItselfAsItSays) {
    for (const Precision precision : test::host_precisions()) {
        const auto loaded = load_alone(*open_classifier(true), *blob_, precision, DeviceKind::host, 2);
        for (const std::uint32_t most_items : {1U, 8U, 33U}) {
            CountingDevice device;

            const auto model = loaded->make_model(device, {.most_items = most_items});

            EXPECT_EQ(loaded->least_room(most_items), device.device_bytes)
                << most_items << " in " << name_of(precision);
        }
    }
}

TEST(ClassifierSizesTest, OfAnyKindAgreeWithAnIndependentReference) {
    constexpr double fp32_tolerance = 1e-4;  // of two fp32 computations, of sums of up to 4,352 products
    constexpr double bf16_tolerance = 2e-2;
    const TemporaryFolder folder;
    const auto path = folder.path() / "small.safetensors";
    for (const ClassifierSizes& sizes : {ClassifierSizes{64, 33}, ClassifierSizes{128, 7}}) {
        std::vector<float> values(classifier_weight_count(sizes));
        std::mt19937 bits(3);
        std::normal_distribution<float> bell(0.0F, 0.05F);
        std::generate(values.begin(), values.end(), [&] { return bell(bits); });
        test::write_safetensors(path, classifier_tensors(sizes), values);
        const auto app = open_classifier(true);
        const WeightBlob blob = app->read_weights(path);
        std::vector<std::byte> items(2 * item_bytes);
        for (std::size_t i = 0; i < 2; ++i) {
            app->make_codec()->encode(i, random_text(bits, 500 * i),
                                      std::span(items).subspan(i * item_bytes, item_bytes));
        }
        for (const Precision precision : test::host_precisions()) {
            const auto loaded = load_alone(*app, blob, precision, DeviceKind::host, 1);
            HostDevice device;
            const auto model = loaded->make_model(device, {.most_items = 2});
            const auto stream = device.make_stream({});
            std::vector<Record> records(2);

            model->forward(*stream, 2, items, std::as_writable_bytes(std::span(records)));
            stream->record().wait();

            for (std::size_t i = 0; i < 2; ++i) {
                const auto* symbols = reinterpret_cast<const std::uint8_t*>(items.data()) + i * item_bytes;
                const auto want =
                    classifier_reference<double>(values, {symbols, item_bytes}, sizes.channels, sizes.hidden);
                Distance distance;
                for (std::size_t c = 0; c < classes; ++c) {
                    distance.add(records[i].scores[c], want[c]);
                }
                EXPECT_LT(distance.relative(), precision == Precision::fp32 ? fp32_tolerance : bf16_tolerance)
                    << sizes.channels << ", item " << i << " in " << name_of(precision);
            }
            EXPECT_NE(records[0], records[1]);
        }
    }
}

// Without scores nothing else could tell.
TEST(ClassifierLabels, SayThatAScoreIsNotFinite) {
    const auto app = open_classifier(false);
    WeightBlob blob = app->random_weights(seed);
    ClassifierWeights(blob).values().back() = std::numeric_limits<float>::quiet_NaN();  // a bias of the last layer
    const auto loaded = load_alone(*app, blob, Precision::fp32, DeviceKind::host, 1);
    HostDevice device;
    const auto model = loaded->make_model(device, {.most_items = 1});
    const std::vector<std::byte> item(item_bytes);
    std::int32_t label = 0;

    const auto stream = device.make_stream({});
    model->forward(*stream, 1, item, std::as_writable_bytes(std::span(&label, 1)));
    stream->record().wait();

    EXPECT_NE(label & nonfinite_mark, 0);
    EXPECT_LT(label & ~nonfinite_mark, static_cast<std::int32_t>(classes));
}

}  // namespace
}  // namespace sluice::classifier
