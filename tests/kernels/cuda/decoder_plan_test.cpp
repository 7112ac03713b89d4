#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "kernels/cuda/decoder/plan_memory.hpp"
#include "tests/kernels/cuda/gpu.hpp"

namespace sluice {
namespace {

class DecoderPlanOnGpu : public OnGpu {};

template <class T>
std::vector<T> read_back(const T* from, std::size_t count) {
    std::vector<T> result(count);
    check_cuda(cudaMemcpy(result.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return result;
}

/// Texts of one chunk that get a token a pass, without a decoder.
class PlannedChunk {
public:
    static constexpr std::uint32_t items = 60;
    static constexpr decoder::Sizes sizes{.slots = 12, .rows = 256, .text_pages = 4, .pages = 24};

    PlannedChunk(Device& device, std::uint32_t long_prompt, bool attends_in_product)
        : plan_(device, sizes, long_prompt, attends_in_product), memory_(plan_.memory()) {
        std::mt19937 engine(3);
        std::vector<std::byte> bytes(items * rule_.io.input_bytes);
        for (std::uint32_t i = 0; i < items; ++i) {
            const auto tokens =
                static_cast<std::uint32_t>(i < 30 || engine() % 2 == 0 ? 16 : 1 + engine() % sampling_.max_prompt);
            const PromptStart start{.number = i, .tokens = tokens};
            prompts_.push_back(tokens);
            std::memcpy(&bytes[i * rule_.io.input_bytes], &start, sizeof start);
            for (std::uint32_t t = 0; t < tokens; ++t) {
                const std::uint32_t token = i * 1000 + t;
                std::memcpy(&bytes[i * rule_.io.input_bytes + sizeof start + t * sizeof token], &token, sizeof token);
            }
        }
        in_.set(bytes);
        enqueue_begin(memory_, rule_, {.in = in_.as<const std::byte>(), .out = out_.as<std::byte>(), .items = items},
                      nullptr);
    }

    /// Checks the pass that is planned and gives each of its texts a token; false: there is none.
    bool take_pass() {
        batch_ = read_back(memory_.batch, 1)[0];
        if (batch_.more == 0) {
            return false;
        }
        entries_ = read_back(memory_.entries, sizes.slots);
        rows_ = read_back(memory_.rows, sizes.rows);
        texts_ = read_back(memory_.texts, sizes.slots);
        expect_whole_pass();
        for (std::uint32_t e = 0; e < batch_.entries; ++e) {
            expect_entry(e);
        }
        expect_own_pages();
        expect_prompt_pages();
        check_cuda(
            cudaMemcpy(memory_.texts, texts_.data(), texts_.size() * sizeof(decoder::Text), cudaMemcpyHostToDevice),
            "cudaMemcpy");
        enqueue_plan(memory_, rule_, nullptr);
        return true;
    }

    void expect_end() {
        enqueue_expect_done(memory_, nullptr);
        check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        EXPECT_EQ(batch_.free_pages, sizes.pages);
        std::vector<std::uint32_t> pages = read_back(memory_.free_pages, sizes.pages);
        std::ranges::sort(pages);
        for (std::uint32_t i = 0; i < sizes.pages; ++i) {
            EXPECT_EQ(pages[i], i);
        }
        EXPECT_EQ(made_.size(), items);
        EXPECT_EQ(prompts_with_pages_ != 0, memory_.prompt_pages != nullptr && memory_.long_prompt > 16);
        for (const auto& [item, made] : made_) {
            EXPECT_EQ(made, sampling_.max_new) << item;
        }
    }

private:
    void expect_whole_pass() const {
        ASSERT_LE(batch_.rows, sizes.rows);
        ASSERT_LE(batch_.entries, sizes.slots);
        EXPECT_EQ(batch_.entries, batch_.beginning + batch_.continued);
        std::uint32_t row = 0;
        std::uint32_t tiles = 0;
        std::uint32_t long_texts = 0;
        std::uint32_t longest = 0;
        const std::vector<decoder::Tile> all = read_back(memory_.tiles, batch_.tiles);
        const std::vector<decoder::Tile> all_long = read_back(memory_.long_texts, batch_.long_texts);
        for (std::uint32_t e = 0; e < batch_.entries; ++e) {
            const decoder::Entry& entry = entries_[e];
            ASSERT_EQ(entry.first_row, row) << e;
            row += entry.rows;
            const auto expect_tile = [&](const decoder::Tile& tile, std::uint32_t query) {
                EXPECT_EQ(tile.slot, entry.slot);
                EXPECT_EQ(tile.first_row, entry.first_row);
                EXPECT_EQ(tile.rows, entry.rows);
                EXPECT_EQ(tile.query, query);
            };
            const bool is_long = entry.rows >= memory_.long_prompt;
            if (e < batch_.beginning && is_long) {
                ASSERT_LT(long_texts, batch_.long_texts);
                expect_tile(all_long[long_texts++], 0);
                longest = std::max(longest, entry.rows);
            }
            const bool has_tiles = e < batch_.beginning && !is_long && !attends_in_product(e);
            for (std::uint32_t query = 0; has_tiles && query < entry.rows; query += 16) {
                ASSERT_LT(tiles, batch_.tiles);
                expect_tile(all[tiles++], query);
            }
            if (e + 1 == batch_.beginning) {
                EXPECT_EQ(row, batch_.beginning_rows);
            }
        }
        EXPECT_EQ(row, batch_.rows);
        EXPECT_EQ(tiles, batch_.tiles);
        EXPECT_EQ(long_texts, batch_.long_texts);
        EXPECT_EQ(longest, batch_.longest_text);
    }

    /// A product attends to the prompts of tiles of 128 rows that are eight prompts of 16 tokens: each group of 16 rows
    /// that begins in the pass has the page of the prompt that it is, if it is one of these.
    void expect_prompt_pages() {
        if (memory_.prompt_pages == nullptr) {
            return;
        }
        const auto table = read_back(memory_.page_table, std::size_t{sizes.slots} * sizes.text_pages);
        std::vector<std::uint32_t> expected((batch_.rows + 15) / 16, decoder::no_page);
        for (std::uint32_t e = 0; e < batch_.beginning; ++e) {
            if (attends_in_product(e)) {
                expected[entries_[e].first_row / 16] = table[entries_[e].slot * sizes.text_pages];
                ++prompts_with_pages_;
            }
        }
        EXPECT_EQ(read_back(memory_.prompt_pages, expected.size()), expected);
    }

    [[nodiscard]] bool attends_in_product(std::uint32_t number) const {
        const std::uint32_t tile = entries_[number].first_row / 128;
        const auto of_tile = std::ranges::count_if(
            entries_.begin(), entries_.begin() + batch_.beginning, [&](const decoder::Entry& entry) {
                return entry.rows == 16 && entry.first_row % 16 == 0 && entry.first_row / 128 == tile;
            });
        return memory_.prompt_pages != nullptr && memory_.long_prompt > 16 && of_tile == 8;
    }

    void expect_entry(std::uint32_t number) {
        const decoder::Entry& entry = entries_[number];
        decoder::Text& text = texts_[entry.slot];
        ASSERT_LT(text.item, items);
        ASSERT_EQ(text.prompt, prompts_[text.item]);
        std::uint32_t& made = made_[text.item];
        ASSERT_EQ(text.made, made);
        const bool begins = number < batch_.beginning;
        ASSERT_EQ(begins, made == 0);
        ASSERT_EQ(entry.rows, begins ? text.prompt : 1);
        for (std::uint32_t i = 0; i < entry.rows; ++i) {
            const decoder::Row& row = rows_[entry.first_row + i];
            EXPECT_EQ(row.slot, entry.slot);
            EXPECT_EQ(row.position, begins ? i : text.prompt + made - 1);
            EXPECT_EQ(row.token, text.item * 1000 + row.position);
        }
        text.last = text.item * 1000 + text.prompt + made;
        text.made = ++made;
        text.complete = made == sampling_.max_new ? 1 : 0;
    }

    void expect_own_pages() const {
        const auto table = read_back(memory_.page_table, std::size_t{sizes.slots} * sizes.text_pages);
        std::set<std::uint32_t> seen;
        std::uint32_t held = 0;
        for (std::uint32_t slot = 0; slot < sizes.slots; ++slot) {
            for (std::uint32_t i = 0; i < texts_[slot].pages; ++i, ++held) {
                seen.insert(table[slot * sizes.text_pages + i]);
            }
            EXPECT_TRUE(texts_[slot].pages == 0 ||
                        texts_[slot].pages * 16 >= texts_[slot].prompt + sampling_.max_new - 1);
        }
        EXPECT_EQ(seen.size(), held);
        EXPECT_EQ(held + batch_.free_pages, sizes.pages);
    }

    TokenSampling sampling_{.max_prompt = 50, .max_new = 6};
    decoder::Rule rule_ = decoder::rule_of(sampling_);
    decoder::PlanMemory plan_;
    decoder::Memory memory_;
    DeviceMemory in_{items * decoder_io(sampling_).input_bytes};
    DeviceMemory out_{items * decoder_io(sampling_).output_bytes};
    std::vector<std::uint32_t> prompts_;
    std::map<std::uint32_t, std::uint32_t> made_;  // tokens, by item
    std::uint32_t prompts_with_pages_ = 0;
    decoder::Batch batch_{};
    std::vector<decoder::Entry> entries_;
    std::vector<decoder::Row> rows_;
    std::vector<decoder::Text> texts_;
};

/// Fewer slots, rows and pages than the items want: all three run out.
TEST_F(DecoderPlanOnGpu, GivesEachTextItsTokensInTurn) {
    const auto device = make_cuda_device(0);
    for (const std::uint32_t long_prompt : {decoder::no_prompt_is_long, 50U, 20U, 1U}) {
        for (const bool attends_in_product : {false, true}) {
            SCOPED_TRACE(testing::Message() << "long from " << long_prompt << ", pages " << attends_in_product);
            PlannedChunk chunk(*device, long_prompt, attends_in_product);

            std::uint32_t passes = 0;
            while (chunk.take_pass()) {
                ASSERT_FALSE(HasFatalFailure());
                ASSERT_LT(++passes, PlannedChunk::items * 7);
            }

            chunk.expect_end();
        }
    }
}

}  // namespace
}  // namespace sluice
