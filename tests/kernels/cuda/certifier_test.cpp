#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "core/cuda.hpp"
#include "kernels/cuda_kernels.hpp"
#include "tests/kernels/cuda/gpu.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t classes = 3;
constexpr std::uint32_t batch = 32;
constexpr float bound = 0.3F;  // of the scores' size, which is 1 and their largest
constexpr float offsets[classes] = {0.0F, 10.0F, -5.0F};

/// A record of label and scores.
struct Record {
    std::int32_t label;
    float scores[classes];
    friend bool operator==(const Record&, const Record&) = default;
};

/// An item is the record that it shall get: the exact model copies it.
class CopyingModel final : public Model {
public:
    [[nodiscard]] IoShape shape() const noexcept override { return {sizeof(Record), sizeof(Record)}; }
    void forward(Stream& stream, std::size_t, std::span<const std::byte> in, std::span<std::byte> out) override {
        stream.copy(out, in);
    }
};

struct Items {
    std::vector<Record> exact;
    std::vector<Record> guesses;
    std::vector<bool> uncertain;
};

/// `share` of the items have a gap below the bound.
Items draw_items(std::size_t count, double share, std::uint32_t seed) {
    std::mt19937 engine(seed);
    std::bernoulli_distribution is_uncertain(share);
    std::uniform_int_distribution<std::int32_t> draw_class(0, classes - 1);
    std::uniform_real_distribution<float> draw_small(0.0F, 0.4F);
    Items items;
    for (std::size_t i = 0; i < count; ++i) {
        const bool uncertain = is_uncertain(engine);
        const std::int32_t best = draw_class(engine);
        Record guess{.label = -1, .scores = {}};
        for (std::uint32_t c = 0; c < classes; ++c) {
            guess.scores[c] = draw_small(engine) - offsets[c] + (static_cast<std::int32_t>(c) == best ? 1.5F : 0.0F);
        }
        if (uncertain) {  // the best one's lead goes
            guess.scores[best] -= 1.5F;
        }
        items.guesses.push_back(guess);
        items.exact.push_back({.label = 100 + best, .scores = {draw_small(engine), 2.0F, 3.0F}});
        items.uncertain.push_back(uncertain);
    }
    return items;
}

Record expected(const Items& items, std::size_t i) {
    if (items.uncertain[i]) {
        return items.exact[i];
    }
    Record record = items.guesses[i];
    for (std::uint32_t c = 0; c < classes; ++c) {
        record.scores[c] += offsets[c];
    }
    record.label = static_cast<std::int32_t>(std::ranges::max_element(record.scores) - record.scores);
    return record;
}

class CertifierOnGpu : public OnGpu {
protected:
    void SetUp() override {
        OnGpu::SetUp();
        if (!IsSkipped()) {
            device_ = make_cuda_device(0);
            stream_ = device_->make_stream({});
        }
    }

    [[nodiscard]] std::unique_ptr<Certifier> make(std::uint32_t max_items, bool scores) {
        auto certifier = cuda_kernels(Precision::fp32)
                             .make_certifier(*device_,
                                             {.input_bytes = sizeof(Record),
                                              .classes = classes,
                                              .scores = scores,
                                              .max_items = max_items,
                                              .batch = batch},
                                             exact_);
        certifier->set_margin({.offsets = {std::begin(offsets), std::end(offsets)}, .bound = bound, .usual = 1});
        return certifier;
    }

    /// What `certifier` makes of them, in a recording or not.
    template <class Out>
    [[nodiscard]] std::vector<Out> certify(Certifier& certifier, const Items& items, bool recorded) {
        const Buffer in = on_device(items.exact);
        const Buffer guesses = on_device(items.guesses);
        const Buffer out = device_->allocate(MemorySpace::device, items.exact.size() * sizeof(Out));
        check_cuda(cudaMemset(out.bytes().data(), 0xff, out.bytes().size()), "cudaMemset");
        const auto work = [&] {
            certifier.enqueue(*stream_, items.exact.size(), in.bytes(), guesses.bytes(), out.bytes());
        };
        std::unique_ptr<Recording> recording;
        if (recorded) {
            stream_->repeat(recording, work);
            stream_->repeat(recording, work);  // a loop that has run can run again
        } else {
            work();
        }
        stream_->record().wait();
        std::vector<Out> result(items.exact.size());
        check_cuda(cudaMemcpy(result.data(), out.bytes().data(), out.bytes().size(), cudaMemcpyDeviceToHost), "copy");
        return result;
    }

    template <class T>
    [[nodiscard]] Buffer on_device(const std::vector<T>& values) {
        Buffer buffer = device_->allocate(MemorySpace::device, values.size() * sizeof(T));
        check_cuda(cudaMemcpy(buffer.bytes().data(), values.data(), buffer.bytes().size(), cudaMemcpyHostToDevice),
                   "copy");
        return buffer;
    }

    CopyingModel exact_;
    std::unique_ptr<Device> device_;
    std::unique_ptr<Stream> stream_;
};

TEST_F(CertifierOnGpu, ComputesTheUncertainItemsAgainAndNoOthers) {
    const std::uint32_t seed = std::random_device()();
    SCOPED_TRACE(seed);
    for (const std::size_t count : {std::size_t{1}, std::size_t{31}, std::size_t{1024}, std::size_t{3001}}) {
        for (const double share : {0.0, 0.01, 0.5, 1.0}) {
            for (const bool recorded : {false, true}) {
                SCOPED_TRACE(testing::Message() << count << " items, " << share << ", recorded: " << recorded);
                const Items items = draw_items(count, share, seed);
                const auto certifier = make(static_cast<std::uint32_t>(count), true);
                const auto records = certify<Record>(*certifier, items, recorded);
                for (std::size_t i = 0; i < count; ++i) {
                    ASSERT_EQ(records[i], expected(items, i)) << "item " << i;
                }
                const auto uncertain = static_cast<std::uint64_t>(std::ranges::count(items.uncertain, true));
                EXPECT_EQ(certifier->recomputed(), (recorded ? 2 : 1) * uncertain);
            }
        }
    }
}

TEST_F(CertifierOnGpu, LeavesTheScoresOutWhenTheyAreNotWanted) {
    const Items items = draw_items(500, 0.3, 5);
    const auto labels = certify<std::int32_t>(*make(500, false), items, true);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        ASSERT_EQ(labels[i], expected(items, i).label) << "item " << i;
    }
}

TEST_F(CertifierOnGpu, CallsAnItemUncertainWhoseScoresAreNoNumbers) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        for (std::uint32_t c = 0; c < classes; ++c) {
            Items items = draw_items(100, 0, 6);
            items.guesses[42].scores[c] = bad;
            const auto records = certify<Record>(*make(100, true), items, false);
            EXPECT_EQ(records[42], items.exact[42]);
        }
    }
}

TEST_F(CertifierOnGpu, CallsNothingCertainBeforeItHasAMargin) {
    const Items items = draw_items(100, 0, 7);
    const auto certifier = make(100, true);
    certifier->set_margin({.offsets = std::vector<float>(classes)});
    EXPECT_EQ(certify<Record>(*certifier, items, false), items.exact);
}

}  // namespace
}  // namespace sluice
