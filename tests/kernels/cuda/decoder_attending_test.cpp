#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/decoder/prompts/attending_product.hpp"
#include "kernels/cuda/gemm/gemm.hpp"
#include "tests/kernels/cuda/decoder_on_gpu.hpp"
#include "tests/kernels/cuda/decoder_pieces.hpp"
#include "tests/kernels/cuda/gemm_operands.hpp"

namespace sluice {
namespace {

using test::Continued;
using test::DecoderKind;
using test::DecoderOnGpu;
using test::DecoderPiecesOnGpu;
using test::narrow_precisions;
using test::Pass;
using test::random_prompts;
using test::RandomDecoder;
using test::Tokens;

/// Prompts of 16 tokens that fill tiles, then ones that begin at a multiple of 16 rows and others; rows of the last
/// tile are not of the pass.
std::vector<Pass::Spec> prompts_with_pages_and_others() {
    std::vector<Pass::Spec> specs(20, {0, 16});
    for (const std::uint32_t rows : {5U, 16U, 11U, 16U, 33U, 15U, 16U, 16U, 8U, 8U, 16U, 17U, 16U, 15U, 16U, 3U, 16U}) {
        specs.push_back({.first_position = 0, .rows = rows});
    }
    for (const std::uint32_t position : {16U, 7U, 16U}) {
        specs.push_back({.first_position = position, .rows = 1});
    }
    return specs;
}

/// A layer's queries, keys and values, and what prompts make of them, in memory of their own.
class AttendedRows {
public:
    AttendedRows(Precision precision, std::uint32_t heads, const GemmOperands& operands, bool attends_in_product)
        : precision_(precision),
          heads_(heads),
          operands_(operands),
          pass_(prompts_with_pages_and_others(), decoder::no_prompt_is_long, attends_in_product),
          rows_(std::size_t{most_rows} * 3 * width() * 2),
          mixed_(std::size_t{most_rows} * width() * 2),
          cache_memory_(std::size_t{layers} * pass_.pages() * decoder::page_positions * 2 * width() * 2) {}

    void multiply() {
        Gemm(shape(), precision_, product(), {.instructions = MatrixInstructions::wgmma}).enqueue(nullptr);
    }
    void multiply_attending(bool last) {
        const decoder::Attention attending = attention();
        const decoder::Cache pages = cache();
        decoder::AttendingProduct(pass_.memory(), precision_,
                                  {.attention = attending, .cache = pages, .number = layer, .is_last = last}, shape(),
                                  product())
            .enqueue(nullptr);
    }
    void attend() {
        decoder::enqueue_prompt_attention(pass_.memory(), precision_, attention(), cache(), layer, nullptr);
    }
    void write_cache() {
        decoder::enqueue_cache_write(pass_.memory(), precision_, rows_.as<std::byte>() + std::size_t{width()} * 2,
                                     3 * width(), cache(), layer, nullptr);
    }

    [[nodiscard]] std::vector<std::byte> mixed() const { return mixed_.content(); }
    [[nodiscard]] std::vector<std::byte> cached() const { return cache_memory_.content(); }
    [[nodiscard]] std::vector<std::byte> rows() const { return rows_.content(); }
    /// The queries, keys or values of a row of all these.
    [[nodiscard]] std::vector<std::byte> part_of(const std::vector<std::byte>& rows, std::uint32_t part,
                                                 std::uint32_t row) const {
        const std::size_t bytes = std::size_t{width()} * 2;
        const std::span<const std::byte> of_part =
            std::span(rows).subspan((std::size_t{row} * 3 + part) * bytes, bytes);
        return {of_part.begin(), of_part.end()};
    }
    [[nodiscard]] const Pass& pass() const { return pass_; }

    static constexpr std::uint32_t most_rows = 900;
    static constexpr std::uint32_t depth = 136;

private:
    static constexpr std::uint32_t layers = 3;
    static constexpr std::uint32_t layer = 1;

    [[nodiscard]] std::uint32_t width() const { return heads_ * 64; }
    [[nodiscard]] GemmShape shape() const { return {.rows = most_rows, .columns = 3 * width(), .depth = depth}; }
    [[nodiscard]] GemmMemory product() const {
        return {.a = operands_.on_device[0].as(),
                .b = operands_.on_device[1].as(),
                .bias = operands_.on_device[2].as<float>(),
                .residual = nullptr,
                .out = rows_.as(),
                .active = &pass_.memory().batch->rows,
                .row_scales = operands_.on_device[4].as<float>()};
    }
    [[nodiscard]] decoder::Attention attention() const {
        return {.queries = rows_.as(),
                .out = mixed_.as(),
                .stride = 3 * width(),
                .out_stride = width(),
                .heads = heads_,
                .key_heads = heads_,
                .head_size = 64,
                .positions = 200,
                .scale = 0.125F};
    }
    [[nodiscard]] decoder::Cache cache() const {
        return {.values = cache_memory_.as(), .pages = pass_.pages(), .width = width()};
    }

    Precision precision_;
    std::uint32_t heads_;
    const GemmOperands& operands_;
    Pass pass_;
    DeviceMemory rows_;
    DeviceMemory mixed_;
    DeviceMemory cache_memory_;
};

bool is_poison(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0xFF}; });
}

class AttendingProductOnGpu : public DecoderPiecesOnGpu {
protected:
    void SetUp() override {
        DecoderPiecesOnGpu::SetUp();
        if (!IsSkipped() && gpu().instructions() != MatrixInstructions::wgmma) {
            GTEST_SKIP() << "needs wgmma";
        }
    }

    /// Calls `test(precision, heads, operands)`.
    template <class Test>
    static void for_each_case(const Test& test) {
        for (const Precision precision : narrow_precisions) {
            for (const std::uint32_t heads : {1U, 3U, 12U}) {
                SCOPED_TRACE(testing::Message() << name_of(precision) << ", " << heads << " heads");
                const GemmOperands operands(precision, AttendedRows::most_rows, 3 * 64 * heads, AttendedRows::depth,
                                            heads);
                test(precision, heads, operands);
            }
        }
    }
};

TEST_F(AttendingProductOnGpu, HasTheBitsOfTheProductAndOfAttention) {
    for_each_case([](Precision precision, std::uint32_t heads, const GemmOperands& operands) {
        AttendedRows apart(precision, heads, operands, false);
        apart.multiply();
        apart.attend();

        AttendedRows together(precision, heads, operands, true);
        together.multiply_attending(false);
        const std::vector<std::byte> of_product = together.mixed();
        together.attend();

        EXPECT_EQ(together.mixed(), apart.mixed());
        EXPECT_EQ(together.cached(), apart.cached());
        const std::vector<std::byte> rows = together.rows();
        const std::vector<std::byte> expected = apart.rows();
        std::uint32_t first_row = 0;
        std::uint32_t with_pages = 0;
        for (const Pass::Spec& text : prompts_with_pages_and_others()) {
            const bool has_page = text.first_position == 0 && together.pass().has_page(first_row, text.rows);
            with_pages += has_page ? 1 : 0;
            for (std::uint32_t row = first_row; row < first_row + text.rows; ++row) {
                const std::size_t row_bytes = std::size_t{heads} * 64 * 2;
                ASSERT_EQ(is_poison(std::span(of_product).subspan(row * row_bytes, row_bytes)), !has_page) << row;
                for (std::uint32_t part = 0; part < 3 && !has_page; ++part) {
                    ASSERT_EQ(together.part_of(rows, part, row), apart.part_of(expected, part, row)) << row;
                }
            }
            first_row += text.rows;
        }
        EXPECT_GT(with_pages, 22);
    });
}

/// Prompts attend side by side: a number that is none, in one of them or in another prompt, spoils its own prompt only.
TEST_F(AttendingProductOnGpu, LetsNoPromptSpoilAnother) {
    for_each_case([](Precision precision, std::uint32_t heads, const GemmOperands& operands) {
        AttendedRows whole(precision, heads, operands, true);
        whole.multiply_attending(false);
        const std::vector<std::byte> expected = whole.mixed();
        for (const std::uint32_t spoilt_row : {37U, 322U}) {
            GemmOperands with_nan(precision, AttendedRows::most_rows, 3 * 64 * heads, AttendedRows::depth, heads);
            with_nan.on_device[0].set(
                encode_with_nan(precision, operands.a, AttendedRows::depth, spoilt_row * AttendedRows::depth));
            AttendedRows apart(precision, heads, with_nan, false);
            apart.multiply();
            apart.attend();

            AttendedRows together(precision, heads, with_nan, true);
            together.multiply_attending(false);
            const std::vector<std::byte> of_product = together.mixed();
            together.attend();

            EXPECT_EQ(together.mixed(), apart.mixed());
            const std::size_t prompt_bytes = std::size_t{16} * heads * 64 * 2;
            for (std::uint32_t prompt = 0; prompt < 20; ++prompt) {
                const auto of_prompt = [&](const std::vector<std::byte>& all) {
                    return std::span(all).subspan(prompt * prompt_bytes, prompt_bytes);
                };
                const bool is_spoilt = prompt == spoilt_row / 16;
                ASSERT_NE(std::ranges::equal(of_prompt(of_product), of_prompt(expected)), is_spoilt) << prompt;
                const std::vector<float> results = decode(precision, of_prompt(of_product));
                ASSERT_EQ(std::ranges::any_of(results, [](float value) { return std::isnan(value); }), is_spoilt);
            }
        }
    });
}

TEST_F(AttendingProductOnGpu, LeavesQueriesInTheLastLayer) {
    for_each_case([](Precision precision, std::uint32_t heads, const GemmOperands& operands) {
        AttendedRows apart(precision, heads, operands, false);
        apart.multiply();
        apart.write_cache();

        AttendedRows together(precision, heads, operands, true);
        together.multiply_attending(true);
        together.write_cache();

        EXPECT_TRUE(is_poison(together.mixed()));
        EXPECT_EQ(together.cached(), apart.cached());
        const std::vector<std::byte> rows = together.rows();
        const std::vector<std::byte> expected = apart.rows();
        for (std::uint32_t row = 0; row < apart.pass().rows.size(); ++row) {
            ASSERT_EQ(together.part_of(rows, 0, row), apart.part_of(expected, 0, row)) << row;
        }
    });
}

/// A prompt's attention is in the product only where eight of 16 tokens fill a tile.
TEST_F(DecoderOnGpu, GivesAPromptTheSameBitsWhereverItsRowsBegin) {
    constexpr DecoderShape shape{
        .vocabulary = 300, .positions = 80, .width = 192, .layers = 3, .heads = 3, .inner = 256};
    const RandomDecoder model(shape, 17);
    const TokenSampling greedy{.max_prompt = 40, .max_new = 6, .temperature = 0, .log_probabilities = true};
    std::vector<Tokens> prompts = random_prompts(200, 40, shape.vocabulary, 18);
    for (std::size_t i = 0; i < 150; ++i) {
        prompts[i].resize(16, 1);
    }
    std::vector<Tokens> shifted = prompts;
    shifted.insert(shifted.begin(), Tokens{5});
    for (const DecoderKind kind : kinds()) {
        const std::vector<Continued> aligned = continuer(kind, model, greedy, 200)(prompts);

        const std::vector<Continued> behind_another = continuer(kind, model, greedy, 201)(shifted);

        EXPECT_TRUE(std::ranges::equal(aligned, std::span(behind_another).subspan(1))) << kind;
    }
}

}  // namespace
}  // namespace sluice
