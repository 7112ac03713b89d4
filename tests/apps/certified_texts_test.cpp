#include "apps/certified_texts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/text_model.hpp"
#include "core/device/host_device.hpp"

namespace sluice {
namespace {

ChoiceDoubt at_distance(float distance, std::uint32_t kept = 0) {
    return {.doubt = {.distance = distance}, .kept = kept};
}

constexpr std::uint32_t max_new = 4;
const DecoderTexts continuations{.sampling = {.max_prompt = 2, .max_new = max_new}};

/// Texts as a decoder writes them; what is behind their ends is open.
class Continuations {
public:
    void add(const std::vector<std::uint32_t>& tokens, bool has_end, const std::vector<ChoiceDoubt>& choices) {
        const std::size_t bytes = continuations.io().output_bytes;
        const std::size_t at = written_.results.size();
        written_.results.resize(at + bytes, std::byte{0xEE});
        const ContinuationStart start{.tokens = static_cast<std::uint32_t>(tokens.size()),
                                      .has_end = has_end ? 1U : 0U};
        std::memcpy(&written_.results[at], &start, sizeof start);
        if (!tokens.empty()) {
            std::memcpy(&written_.results[at + sizeof start], tokens.data(), tokens.size() * sizeof(std::uint32_t));
        }
        std::vector<ChoiceDoubt> all(choices);
        all.resize(max_new, at_distance(-77, 99));
        written_.choices.insert(written_.choices.end(), all.begin(), all.end());
    }
    [[nodiscard]] const WrittenTexts& written() const { return written_; }

private:
    WrittenTexts written_;
};

SeenTexts compare(const Continuations& fast, const Continuations& exact) {
    return compare_texts(fast.written(), exact.written(), continuations);
}

TEST(CertifiedTexts, LearnFromEveryChoiceThatIsAlike) {
    Continuations fast;
    Continuations exact;
    fast.add({5, 6}, true, {at_distance(1), at_distance(2), at_distance(3)});
    exact.add({5, 6}, true, {at_distance(4), at_distance(5), at_distance(6)});
    fast.add({1, 2, 3, 4}, false, {at_distance(7), at_distance(7), at_distance(7), at_distance(8)});
    exact.add({1, 2, 3, 4}, false, {at_distance(7), at_distance(7), at_distance(7), at_distance(9)});

    const SeenTexts seen = compare(fast, exact);

    ASSERT_EQ(seen.alike.size(), 7U);
    EXPECT_EQ(seen.alike[2].fast.distance, 3);
    EXPECT_EQ(seen.alike[2].exact.distance, 6);
    EXPECT_EQ(seen.alike[6].fast.distance, 8);
    EXPECT_EQ(seen.alike[6].exact.distance, 9);
    EXPECT_TRUE(seen.differing.empty());
}

TEST(CertifiedTexts, LearnNothingFromAChoiceAmongOtherTokens) {
    Continuations fast;
    Continuations exact;
    fast.add({5, 6}, true, {at_distance(1, 10), at_distance(2, 11), at_distance(3, 12)});
    exact.add({5, 6}, true, {at_distance(4, 10), at_distance(5, 77), at_distance(6, 12)});

    const SeenTexts seen = compare(fast, exact);

    ASSERT_EQ(seen.alike.size(), 2U);
    EXPECT_EQ(seen.alike[0].fast.distance, 1);
    EXPECT_EQ(seen.alike[1].fast.distance, 3);
    EXPECT_TRUE(seen.differing.empty());
}

/// Behind the first other token nothing is comparable. That another choice of the text came closer does not excuse it:
/// where drafts are checked, only choices that came too close are made again.
TEST(CertifiedTexts, TellWhichChoicesDifferAndHowCloseTheyCame) {
    Continuations fast;
    Continuations exact;
    fast.add({5, 6, 7, 8}, false, {at_distance(4), at_distance(3), at_distance(1), at_distance(2)});
    exact.add({5, 9, 7, 8}, false, {at_distance(4), at_distance(3), at_distance(9), at_distance(9)});
    fast.add({5}, true, {at_distance(6), at_distance(5)});  // ends where the other one continues
    exact.add({5, 1, 1, 1}, false, {at_distance(7), at_distance(5), at_distance(5), at_distance(5)});

    const SeenTexts seen = compare(fast, exact);

    ASSERT_EQ(seen.alike.size(), 2U);
    EXPECT_EQ(seen.alike[1].exact.distance, 7);
    ASSERT_EQ(seen.differing.size(), 2U);
    EXPECT_EQ(seen.differing[0].distance, 3);
    EXPECT_EQ(seen.differing[1].distance, 5);
}

TEST(CertifiedTexts, CompareNamesWithoutTheirLogProbabilities) {
    constexpr GeneratorTexts names{.max_length = 4};
    const auto written = [&](std::string_view bytes, float log_probability, float distance) {
        WrittenTexts texts{.results = std::vector<std::byte>(names.io().output_bytes),
                           .doubts = {{.distance = distance}},
                           .choices = {}};
        const TextEnd end{.length = static_cast<std::int32_t>(bytes.size()), .log_probability = log_probability};
        std::memcpy(texts.results.data(), &end, sizeof end);
        std::memcpy(&texts.results[sizeof end], bytes.data(), bytes.size());
        return texts;
    };

    const SeenTexts same = compare_texts(written("Ada", -3, 1), written("Ada", -4, 2), names);
    const SeenTexts other = compare_texts(written("Ada", -3, 1), written("Ida", -3, 2), names);
    const SeenTexts longer = compare_texts(written("Ada", -3, 1), written("Adam", -3, 2), names);

    ASSERT_EQ(same.alike.size(), 1U);
    EXPECT_EQ(same.alike[0].exact.distance, 2);
    EXPECT_TRUE(same.differing.empty());
    EXPECT_TRUE(other.alike.empty());
    ASSERT_EQ(other.differing.size(), 1U);
    EXPECT_EQ(other.differing[0].distance, 1);
    EXPECT_EQ(longer.differing.size(), 1U);
}

/// What was said to the parts of CertifiedTexts, in order, and the bytes that each of them was handed.
struct Said {
    std::vector<std::string_view> steps;
    std::vector<std::byte> drafts;
    std::vector<std::byte> choices;
    std::vector<std::byte> doubts;
    std::vector<std::byte> checked;  // texts
    TextDoubt of_checker;
    TextDoubt of_certifier;
};

void fill(std::span<std::byte> bytes, int value) {
    std::ranges::fill(bytes, static_cast<std::byte>(value));
}
bool all_are(std::span<const std::byte> bytes, int value) {
    return !bytes.empty() &&
           std::ranges::all_of(bytes, [&](std::byte byte) { return byte == static_cast<std::byte>(value); });
}

class FakeWriter final : public TextWriter {
public:
    explicit FakeWriter(Said& said) : said_(said) {}
    using Operation::enqueue;
    void enqueue(Stream&, const Batch&, Inputs, Outputs out) override {
        said_.steps.emplace_back("writer");
        for (std::size_t i = 0; i < out.size(); ++i) {
            fill(out[i], 1 + static_cast<int>(i));
        }
    }
    [[nodiscard]] TextCounts counts() const override { return {.texts = 1, .shared = 10}; }

private:
    Said& said_;
};

class FakeChecker final : public TextChecker {
public:
    explicit FakeChecker(Said& said) : said_(said) {}
    using Operation::enqueue;
    void enqueue(Stream&, const Batch&, Inputs in, Outputs out) override {
        said_.steps.emplace_back("checker");
        said_.choices.assign(in[1].begin(), in[1].end());
        said_.drafts.assign(out[0].begin(), out[0].end());
        fill(out[0], 4);
        fill(out[1], 3);
    }
    void set_bounds(const TextDoubt& bounds) override { said_.of_checker = bounds; }
    [[nodiscard]] std::uint64_t checked() const override { return 5; }
    [[nodiscard]] std::uint64_t corrected() const override { return 2; }

private:
    Said& said_;
};

class FakeCertifier final : public TextCertifier {
public:
    explicit FakeCertifier(Said& said) : said_(said) {}
    using Operation::enqueue;
    void enqueue(Stream&, const Batch&, Inputs in, Outputs out) override {
        said_.steps.emplace_back("certifier");
        said_.doubts.assign(in[1].begin(), in[1].end());
        said_.checked.assign(out[0].begin(), out[0].end());
    }
    void set_bounds(const TextDoubt& bounds) override { said_.of_certifier = bounds; }
    [[nodiscard]] std::uint64_t recomputed() const override { return 0; }
    [[nodiscard]] TextCounts retracted() const override { return {.texts = 2}; }

private:
    Said& said_;
};

class FakeKernels final : public CertifierKernels {
public:
    explicit FakeKernels(Said& said) : said_(said) {}
    std::unique_ptr<Certifier> make_certifier(Device&, const CertifyShape&, Model&) const override { return nullptr; }
    std::unique_ptr<TextCertifier> make_text_certifier(Device&, const TextCertifierShape&, TextWriter&) const override {
        return std::make_unique<FakeCertifier>(said_);
    }

private:
    Said& said_;
};

class CertifiedTextsOfFakes : public testing::Test {
protected:
    static constexpr std::uint32_t items = 3;
    static constexpr TextDoubt fast_bounds{.distance = 1, .gap = 2};
    static constexpr TextDoubt check_bounds{.distance = 3, .gap = 4};

    CertifiedTexts make(std::unique_ptr<TextChecker> checker) {
        TextChecking checking;
        if (checker != nullptr) {
            checking = {.writer = std::make_unique<FakeWriter>(said_), .checker = std::move(checker)};
        }
        return {FakeKernels(said_),
                host_,
                {.form = continuations, .most_items = 4, .batch = 4},
                std::make_unique<FakeWriter>(said_),
                std::make_unique<FakeWriter>(said_),
                std::move(checking)};
    }
    void write(CertifiedTexts& texts) {
        const std::vector<std::byte> in(items * continuations.io().input_bytes);
        std::vector<std::byte> out(items * continuations.io().output_bytes);
        texts.enqueue(*host_.make_stream({}), {.items = items}, in, out);
    }

    HostDevice host_;
    Said said_;
};

TEST_F(CertifiedTextsOfFakes, AreCheckedChoiceByChoiceBeforeAnyIsWrittenAgain) {
    CertifiedTexts texts = make(std::make_unique<FakeChecker>(said_));

    texts.set_bounds(fast_bounds, check_bounds);
    write(texts);

    EXPECT_EQ(said_.steps, (std::vector<std::string_view>{"writer", "checker", "certifier"}));
    EXPECT_TRUE(all_are(said_.drafts, 1));
    EXPECT_TRUE(all_are(said_.choices, 2));
    EXPECT_EQ(said_.choices.size(), items * max_new * sizeof(ChoiceDoubt));
    EXPECT_TRUE(all_are(said_.doubts, 3));  // the checker's, which have bounds of their own
    EXPECT_TRUE(all_are(said_.checked, 4));
    EXPECT_EQ(said_.of_checker, fast_bounds);
    EXPECT_EQ(said_.of_certifier, check_bounds);
    EXPECT_EQ(texts.counts().texts, 1U + 1 + 1 - 2);  // of drafts, corrections and rewritten ones, of those that were
}

TEST_F(CertifiedTextsOfFakes, AreWrittenAgainByTheFastOnesDoubtsWithoutAChecker) {
    CertifiedTexts texts = make(nullptr);

    texts.set_bounds(fast_bounds, check_bounds);
    write(texts);

    EXPECT_EQ(said_.steps, (std::vector<std::string_view>{"writer", "certifier"}));
    EXPECT_TRUE(all_are(said_.doubts, 2));
    EXPECT_EQ(said_.doubts.size(), items * sizeof(TextDoubt));
    EXPECT_EQ(said_.of_certifier, fast_bounds);
    EXPECT_EQ(texts.counts().texts, 1U + 1 - 2);
    EXPECT_EQ(texts.counts().shared, 10U);  // what rewritten texts share is no saving
}

/// Writes each sampled text alike, and each choice with a gap that is off by `error`, up and down; its distance is
/// `distance`, off by twice as much.
class ErringWriter final : public TextWriter {
public:
    explicit ErringWriter(float error, float distance = TextDoubt::none) : error_(error), distance_(distance) {}
    using Operation::enqueue;
    void enqueue(Stream&, const Batch& batch, Inputs, Outputs out) override {
        constexpr float gap = 100;
        Continuations texts;
        for (std::size_t i = 0; i < batch.items; ++i) {
            const float off = i % 2 == 0 ? error_ : -error_;
            texts.add(
                {1, 2, 3, 4}, false,
                std::vector<ChoiceDoubt>(max_new, {.doubt = {.distance = distance_ + 2 * off, .gap = gap + off}}));
        }
        counts_.texts += batch.items;
        std::ranges::copy(texts.written().results, out[0].begin());
        std::ranges::copy(std::as_bytes(std::span(texts.written().choices)), out[1].begin());
    }
    [[nodiscard]] TextCounts counts() const override { return counts_; }

private:
    float error_;
    float distance_;
    TextCounts counts_;
};

/// Keeps the bounds of the certifiers that were made, in that order.
class BoundsKeeper final : public CertifierKernels {
public:
    std::unique_ptr<Certifier> make_certifier(Device&, const CertifyShape&, Model&) const override { return nullptr; }
    std::unique_ptr<TextCertifier> make_text_certifier(Device&, const TextCertifierShape&, TextWriter&) const override {
        said_.push_back(std::make_unique<Said>());
        return std::make_unique<FakeCertifier>(*said_.back());
    }
    [[nodiscard]] float gap(std::size_t certifier) const { return said_.at(certifier)->of_certifier.gap; }

private:
    mutable std::vector<std::unique_ptr<Said>> said_;
};

/// Those of fp16, by which choices are checked, of what checks them, and of tf32x3: six times what each errs. What fp32
/// has checked is certain.
TEST(CertifiedTextModels, GiveEachStepTheBoundsOfTheWriterBeforeIt) {
    constexpr std::uint32_t items = 300;
    HostDevice host;
    const BoundsKeeper kernels;
    Said said;
    Said said_to_exact;
    TextCascade cascade{.form = continuations, .stages = {}};
    cascade.stages[0] = {.writer = std::make_unique<ErringWriter>(0.5F), .items = items};
    cascade.stages[1] = {.writer = std::make_unique<ErringWriter>(0.125F), .items = items};
    cascade.stages[2] = {.writer = std::make_unique<ErringWriter>(0.0F), .items = items};
    cascade.checking = {.writer = std::make_unique<ErringWriter>(0.25F),
                        .checker = std::make_unique<FakeChecker>(said)};
    cascade.exact_checker = std::make_unique<FakeChecker>(said_to_exact);
    CertifiedTextModel model(kernels, host, std::move(cascade), [](const TextCounts& counts) {
        return std::vector<ModelCount>{{.name = "texts", .value = counts.texts}};
    });

    model.calibrate(*host.make_stream({}), std::vector<std::byte>(items * continuations.io().input_bytes));

    EXPECT_FLOAT_EQ(said.of_checker.gap, 3);
    EXPECT_FLOAT_EQ(kernels.gap(1), 1.5F);  // made behind the one that tf32x3's texts pass
    EXPECT_FLOAT_EQ(said_to_exact.of_checker.gap, 0.75F);
    EXPECT_EQ(kernels.gap(0), 0);
    const Certification certification = model.certification().value_or(Certification());
    EXPECT_EQ(certification.recomputed_twice, 5U);  // checked
    EXPECT_EQ(certification.measure, Certification::Measure::gap);
    EXPECT_EQ(certification.bound, 3);
    EXPECT_EQ(certification.gap_bound, std::nullopt);
    EXPECT_EQ(model.counts().at(0).value, 0U);  // the sample's texts are none of the job's
}

TEST(CertifiedTextModels, TellBothBoundsWhereTextsHaveBothMeasures) {
    constexpr std::uint32_t items = 300;
    HostDevice host;
    const BoundsKeeper kernels;
    TextCascade cascade{.form = continuations, .stages = {}};
    for (TextCascade::Stage& stage : cascade.stages) {
        const bool is_fast = &stage == &cascade.stages[0];
        stage = {.writer = std::make_unique<ErringWriter>(is_fast ? 0.5F : 0.0F, 8.0F), .items = items};
    }
    CertifiedTextModel model(kernels, host, std::move(cascade),
                             [](const TextCounts&) { return std::vector<ModelCount>(); });

    model.calibrate(*host.make_stream({}), std::vector<std::byte>(items * continuations.io().input_bytes));

    const Certification certification = model.certification().value_or(Certification());
    EXPECT_EQ(certification.measure, Certification::Measure::draw);
    EXPECT_EQ(certification.bound, 6);
    EXPECT_EQ(certification.gap_bound, 3);
}

TEST(CertifiedTextModels, WriteTheirSampleInGroupsOfAChunkAtMost) {
    const auto bytes = [](std::uint32_t sample) {
        return CertifiedTextModel::bytes(continuations, {20, 300, 7}, sample, false);
    };

    EXPECT_EQ(bytes(1000), bytes(300));
    EXPECT_EQ(bytes(300) - bytes(299), write_texts_bytes(continuations, 1));
}

}  // namespace
}  // namespace sluice
