#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <random>

#include "tests/kernels/cuda/certifying.hpp"

namespace sluice {
namespace {

using namespace certifying;

/// An item is the record that it shall get: the exact model copies it.
class CopyingModel final : public Model {
public:
    [[nodiscard]] IoShape shape() const noexcept override { return {sizeof(Record), sizeof(Record)}; }
    void forward(Stream& stream, std::size_t, std::span<const std::byte> in, std::span<std::byte> out) override {
        stream.copy(out, in);
    }
};

class CertifierOnGpu : public CertifiesOnGpu {
protected:
    [[nodiscard]] std::unique_ptr<Certifier> make_without_margin(std::uint32_t most_items, bool scores) {
        return cuda_kernels(Precision::fp32)
            .certifier.make_certifier(*device_,
                                      {.input_bytes = sizeof(Record),
                                       .classes = classes,
                                       .scores = scores,
                                       .most_items = most_items,
                                       .batch = batch},
                                      exact_);
    }
    [[nodiscard]] std::unique_ptr<Certifier> make(std::uint32_t most_items, bool scores) {
        auto certifier = make_without_margin(most_items, scores);
        certifier->set_margin(margin_with(bound));
        return certifier;
    }

    template <class Out>
    [[nodiscard]] std::vector<Out> certify(Certifier& certifier, const Items& items, bool captured) {
        return CertifiesOnGpu::certify<Out>(certifier, items.exact, items.guesses, captured);
    }

    CopyingModel exact_;
};

TEST_F(CertifierOnGpu, ComputesTheUncertainItemsAgainAndNoOthers) {
    const std::uint32_t seed = std::random_device()();
    SCOPED_TRACE(seed);
    for (const std::size_t count : {std::size_t{1}, std::size_t{31}, std::size_t{1024}, std::size_t{3001}}) {
        for (const double share : {0.0, 0.01, 0.5, 1.0}) {
            for (const bool captured : {false, true}) {
                SCOPED_TRACE(testing::Message() << count << " items, " << share << ", captured: " << captured);
                const Items items = draw_items(count, share, seed);
                const auto certifier = make(static_cast<std::uint32_t>(count), true);
                const auto records = certify<Record>(*certifier, items, captured);
                for (std::size_t i = 0; i < count; ++i) {
                    ASSERT_EQ(records[i], expected(items, i)) << "item " << i;
                }
                const auto uncertain = static_cast<std::uint64_t>(std::ranges::count(items.uncertain, true));
                EXPECT_EQ(certifier->recomputed(), (captured ? 2 : 1) * uncertain);
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
    const auto certifier = make_without_margin(100, true);
    EXPECT_EQ(certify<Record>(*certifier, items, false), items.exact);
}

}  // namespace
}  // namespace sluice
