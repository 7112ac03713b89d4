#include <algorithm>
#include <cstddef>
#include <limits>
#include <random>

#include "tests/kernels/cuda/certifying.hpp"

namespace sluice {
namespace {

using namespace certifying;

/// A member of each of its items.
class MemberModel final : public Model {
public:
    MemberModel(std::size_t item_bytes, std::size_t at) : item_bytes_(item_bytes), at_(at) {}

    [[nodiscard]] IoShape shape() const noexcept override {
        return {static_cast<std::uint32_t>(item_bytes_), sizeof(Record)};
    }
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override {
        for (std::size_t i = 0; i < items; ++i) {
            stream.copy(out.subspan(i * sizeof(Record), sizeof(Record)),
                        in.subspan(i * item_bytes_ + at_, sizeof(Record)));
        }
    }

private:
    std::size_t item_bytes_;
    std::size_t at_;
};

/// An item of two lanes: what the second one guesses, and what the exact model says.
struct Pair {
    Record guess;
    Record exact;
};

/// A model whose guesses are certified, itself the exact model of another certifier.
class CertifiedPairs final : public Model {
public:
    CertifiedPairs(Device& device, std::uint32_t exact_batch, float inner_bound)
        : guesses_(device.allocate(MemorySpace::device, batch * sizeof(Record))),
          certifier_(cuda_kernels(Precision::fp32)
                         .certifier.make_certifier(device,
                                                   {.input_bytes = sizeof(Pair),
                                                    .classes = classes,
                                                    .scores = true,
                                                    .most_items = batch,
                                                    .batch = exact_batch},
                                                   exact_)) {
        certifier_->set_margin(margin_with(inner_bound));
    }

    [[nodiscard]] IoShape shape() const noexcept override { return {sizeof(Pair), sizeof(Record)}; }
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override {
        forward_active(stream, items, nullptr, in, out);
    }
    void forward_active(Stream& stream, std::size_t items, const std::uint32_t* active, std::span<const std::byte> in,
                        std::span<std::byte> out) override {
        const auto guesses = guesses_.bytes().first(items * sizeof(Record));
        fast_.forward(stream, items, in, guesses);
        const std::array<std::span<const std::byte>, 2> items_and_guesses{in, guesses};
        certifier_->enqueue(stream, {.items = items, .active = active}, items_and_guesses, Outputs(&out, 1));
    }
    [[nodiscard]] std::uint64_t recomputed() const { return certifier_->recomputed(); }

private:
    MemberModel fast_{sizeof(Pair), offsetof(Pair, guess)};
    MemberModel exact_{sizeof(Pair), offsetof(Pair, exact)};
    Buffer guesses_;
    std::unique_ptr<Certifier> certifier_;
};

class NestedCertifierOnGpu : public CertifiesOnGpu {
protected:
    /// Certifies items whose exact model is certified too: `first` has the fast model's guesses, `second` the rest.
    /// Says what became of them and how many were computed again, and again.
    struct Nested {
        std::vector<Record> records;
        std::uint64_t recomputed;
        std::uint64_t recomputed_twice;
    };
    [[nodiscard]] Nested certify_nested(const Items& first, const Items& second, std::uint32_t exact_batch,
                                        float inner_bound, bool captured) {
        CertifiedPairs exact(*device_, exact_batch, inner_bound);
        const auto certifier =
            cuda_kernels(Precision::fp32)
                .certifier.make_certifier(*device_,
                                          {.input_bytes = sizeof(Pair),
                                           .classes = classes,
                                           .scores = true,
                                           .most_items = static_cast<std::uint32_t>(first.guesses.size()),
                                           .batch = batch},
                                          exact);
        certifier->set_margin(margin_with(bound));
        std::vector<Pair> inputs;
        for (std::size_t i = 0; i < first.guesses.size(); ++i) {
            inputs.push_back({second.guesses[i], second.exact[i]});
        }
        Nested result{.records = certify<Record>(*certifier, inputs, first.guesses, captured),
                      .recomputed = certifier->recomputed(),
                      .recomputed_twice = exact.recomputed()};
        return result;
    }
};

TEST_F(NestedCertifierOnGpu, MayHaveAnExactModelThatIsCertifiedItself) {
    const std::uint32_t seed = std::random_device()();
    SCOPED_TRACE(seed);
    for (const std::size_t count : {std::size_t{1}, std::size_t{33}, std::size_t{3001}}) {
        for (const double share : {0.0, 0.1, 1.0}) {
            for (const bool captured : {false, true}) {
                SCOPED_TRACE(testing::Message() << count << " items, " << share << ", captured: " << captured);
                const Items first = draw_items(count, 0.3, seed);
                const Items second = draw_items(count, share, seed + 1);

                const Nested got = certify_nested(first, second, 5, bound, captured);

                std::uint64_t again = 0;
                std::uint64_t twice = 0;
                for (std::size_t i = 0; i < count; ++i) {
                    again += first.uncertain[i] ? 1 : 0;
                    twice += first.uncertain[i] && second.uncertain[i] ? 1 : 0;
                    ASSERT_EQ(got.records[i], first.uncertain[i] ? expected(second, i) : expected(first, i))
                        << "item " << i;
                }
                EXPECT_EQ(got.recomputed, (captured ? 2 : 1) * again);
                EXPECT_EQ(got.recomputed_twice, (captured ? 2 : 1) * twice);
            }
        }
    }
}

/// A batch of the loop outside is seldom full; nothing is certain inside.
TEST_F(NestedCertifierOnGpu, NeverComputesPaddingAgain) {
    const Items first = draw_items(1000, 0.1, 8);
    const Items second = draw_items(1000, 0, 9);
    const auto again = static_cast<std::uint64_t>(std::ranges::count(first.uncertain, true));
    ASSERT_NE(again % batch, 0U);

    const Nested got = certify_nested(first, second, 7, std::numeric_limits<float>::infinity(), true);

    EXPECT_EQ(got.recomputed, 2 * again);
    EXPECT_EQ(got.recomputed_twice, 2 * again);
    for (std::size_t i = 0; i < first.guesses.size(); ++i) {
        ASSERT_EQ(got.records[i], first.uncertain[i] ? second.exact[i] : expected(first, i)) << "item " << i;
    }
}

}  // namespace
}  // namespace sluice
