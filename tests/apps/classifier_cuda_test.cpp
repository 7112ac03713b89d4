#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <future>
#include <iterator>
#include <memory>
#include <random>
#include <vector>

#include "apps/classifier/classifier_app.hpp"
#include "apps/classifier/classifier_weights.hpp"
#include "core/device/cuda.hpp"
#include "core/error.hpp"
#include "core/weights/packed_weights.hpp"
#include "tests/support/classifier_reference.hpp"
#include "tests/support/safetensors_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::classifier {
namespace {

constexpr std::size_t item_bytes = 1014;
constexpr std::size_t classes = 4;
constexpr std::size_t items = 12;
constexpr std::uint64_t seed = 17;
constexpr std::uint32_t blank = 70;  // and the number of symbols

struct Record {
    std::int32_t label;
    float scores[classes];
};

using Scores = std::vector<std::array<double, classes>>;

/// What a precision may cost the scores of random weights, which six convolutions and two norms amplify.
double tolerance(Precision precision) {
    switch (precision) {
        case Precision::bf16:
            return 8e-2;
        case Precision::fp16:
        case Precision::tf32:
            return 1.2e-2;
        case Precision::tf32x3:
            return 5e-4;  // the tensor cores cut sums off, where fp32 rounds them
        case Precision::fp32:
            return 1e-4;
        case Precision::certified:
        case Precision::fp8:
        case Precision::fp16x2:
            break;  // no precision of one model of the classifier
    }
    return 0;
}

/// ‖got - want‖ / ‖want‖.
double relative_error(std::span<const Record> got, const Scores& want) {
    double off = 0;
    double norm = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
        for (std::size_t c = 0; c < classes; ++c) {
            off += std::pow(static_cast<double>(got[i].scores[c]) - want[i][c], 2);
            norm += std::pow(want[i][c], 2);
        }
    }
    return std::sqrt(off / norm);
}

/// The whole model on a GPU, and as plain loops; made once for all tests. Skipped, with the reason, without a GPU.
class ClassifierOnGpus : public testing::Test {
protected:
    static void SetUpTestSuite() {
        if (cuda_device_count() == 0) {
            return;
        }
        blob_ = std::make_unique<WeightBlob>(open_classifier(true)->random_weights(seed));
        symbols_.resize(items * item_bytes);
        std::mt19937 engine(7);
        std::ranges::generate(symbols_, [&] { return static_cast<std::uint8_t>(engine() % (blank + 1)); });
        std::fill(symbols_.begin() + 300, symbols_.begin() + item_bytes, static_cast<std::uint8_t>(blank));
        expected_ = plain_scores(*blob_);
    }
    static void TearDownTestSuite() { blob_.reset(); }

    void SetUp() override {
        if (cuda_device_count() == 0) {
            GTEST_SKIP() << "no GPU: " << why_no_cuda();
        }
        try {
            static_cast<void>(make_cuda_device(0));
        } catch (const Error& error) {
            if (error.code() != ExitCode::unavailable) {
                throw;
            }
            GTEST_SKIP() << render(error.text());
        }
    }

    static Scores plain_scores(const WeightBlob& blob) {
        const ClassifierWeights weights(blob);
        std::vector<std::future<std::vector<double>>> plain;
        for (std::size_t i = 0; i < items; ++i) {
            plain.push_back(std::async(std::launch::async, [&weights, i] {
                return classifier_reference<double>(weights.values(),
                                                    std::span(symbols_).subspan(i * item_bytes, item_bytes),
                                                    weights.sizes().channels, weights.sizes().hidden);
            }));
        }
        Scores all;
        for (auto& scores : plain) {
            const std::vector<double> four = scores.get();
            std::copy_n(four.begin(), classes, all.emplace_back().begin());
        }
        return all;
    }

    /// Runs all items, whose records were NaN before.
    static std::vector<Record> run(const CudaDeviceOptions& options, Precision precision, const WeightBlob& blob) {
        const auto loaded = load_alone(*open_classifier(true), blob, precision, DeviceKind::cuda, 2);
        const auto device = make_cuda_device(0, options);
        const auto model = loaded->make_model(*device, {.most_items = items});
        const Buffer host = device->allocate(MemorySpace::pinned, items * sizeof(Record));
        const Buffer in = device->allocate(MemorySpace::device, symbols_.size());
        const Buffer out = device->allocate(MemorySpace::device, host.bytes().size());
        const Buffer from = device->allocate(MemorySpace::pinned, symbols_.size());
        std::ranges::copy(std::as_bytes(std::span(symbols_)), from.bytes().begin());
        std::ranges::fill(host.bytes(), std::byte{0xff});
        const auto stream = device->make_stream({});
        stream->copy(in.bytes(), from.bytes());
        stream->copy(out.bytes(), host.bytes());

        model->forward(*stream, items, in.bytes(), out.bytes());
        stream->copy(host.bytes(), out.bytes());
        stream->record().wait();
        std::vector<Record> records(items);
        std::memcpy(records.data(), host.bytes().data(), host.bytes().size());
        return records;
    }

    static void check(const CudaDeviceOptions& options) { check(options, *blob_, expected_); }

    static void check(const CudaDeviceOptions& options, const WeightBlob& blob, const Scores& expected) {
        for (const Precision precision :
             {Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3, Precision::fp32}) {
            const std::vector<Record> records = run(options, precision, blob);

            EXPECT_LT(relative_error(records, expected), tolerance(precision))
                << "precision " << static_cast<int>(precision);
            for (const Record& record : records) {
                EXPECT_EQ(record.label, std::max_element(record.scores, record.scores + classes) - record.scores);
            }
        }
    }

    static inline std::unique_ptr<WeightBlob> blob_;
    static inline std::vector<std::uint8_t> symbols_;
    static inline Scores expected_;
};

TEST_F(ClassifierOnGpus, AgreesWithPlainLoopsByTheFastestInstructions) {
    check({});
}

TEST_F(ClassifierOnGpus, AgreesWithPlainLoopsWithoutWgmma) {
    check({.instructions = MatrixInstructions::mma});
}

TEST_F(ClassifierOnGpus, AgreesWithPlainLoopsInTheLeastSharedMemory) {
    check({.instructions = MatrixInstructions::mma, .block_shared_bytes = 99 * 1024});
}

/// Weights of these sizes in a file, as random as those of the paper's.
WeightBlob smaller_weights(const ClassifierSizes& sizes) {
    const std::vector<TensorSpec> tensors = classifier_tensors(sizes);
    std::mt19937 engine(11);
    std::vector<float> values;
    for (const TensorSpec& tensor : tensors) {
        const std::size_t fan_in = tensor.elements() / tensor.shape[0];
        const bool is_gamma = tensor.name.starts_with("gamma");
        const bool is_weight = tensor.name.starts_with("w_");
        std::normal_distribution<float> draw(is_gamma ? 1.0F : 0.0F,
                                             is_weight ? std::sqrt(2.0F / static_cast<float>(fan_in)) : 0.1F);
        std::generate_n(std::back_inserter(values), tensor.elements(), [&] { return draw(engine); });
    }
    const TemporaryFolder folder;
    const auto path = folder.path() / "weights.safetensors";
    test::write_safetensors(path, tensors, values);
    return read_classifier_weights(path);
}

TEST_F(ClassifierOnGpus, AgreesWithPlainLoopsInOtherSizes) {
    for (const ClassifierSizes sizes :
         {ClassifierSizes{.channels = 64, .hidden = 128}, ClassifierSizes{.channels = 192, .hidden = 1032}}) {
        const WeightBlob blob = smaller_weights(sizes);
        const Scores expected = plain_scores(blob);

        check({}, blob, expected);
        check({.instructions = MatrixInstructions::mma}, blob, expected);
    }
}

}  // namespace
}  // namespace sluice::classifier
