#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "kernels/cuda/decoder/plan/plan_memory.hpp"
#include "tests/kernels/cuda/gpu.hpp"

/// Plans of a decoder's passes, without a decoder.
namespace sluice::test {

template <class T>
std::vector<T> read_back(const T* from, std::size_t count) {
    std::vector<T> result(count);
    check_cuda(cudaMemcpy(result.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return result;
}

using Prompts = std::vector<std::vector<std::uint32_t>>;

/// Texts of chunks that get a token a pass, without a decoder: its cache has the tokens themselves.
class PlannedChunk {
public:
    PlannedChunk(Device& device, const decoder::Sizes& sizes, const TokenSampling& sampling,
                 std::uint32_t long_prompt = decoder::no_prompt_is_long, bool attends_in_product = false)
        : sizes_(sizes),
          sampling_(sampling),
          plan_(device, sizes, long_prompt, attends_in_product),
          memory_(plan_.memory()),
          cache_(std::size_t{sizes.pages} * decoder::page_positions) {}

    void begin(const Prompts& prompts) {
        prompts_ = prompts;
        made_.clear();
        std::vector<std::byte> bytes(prompts.size() * rule_.io.input_bytes);
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            const PromptStart start{.number = i, .tokens = static_cast<std::uint32_t>(prompts[i].size())};
            std::memcpy(&bytes[i * rule_.io.input_bytes], &start, sizeof start);
            std::memcpy(&bytes[i * rule_.io.input_bytes + sizeof start], prompts[i].data(),
                        prompts[i].size() * sizeof(std::uint32_t));
        }
        in_ = std::make_unique<DeviceMemory>(std::span<const std::byte>(bytes));
        out_ = std::make_unique<DeviceMemory>(prompts.size() * rule_.io.output_bytes);
        enqueue_begin(memory_, rule_,
                      {.in = in_->as<const std::byte>(),
                       .out = out_->as<std::byte>(),
                       .items = static_cast<std::uint32_t>(prompts.size())},
                      nullptr);
        batch_ = read_back(memory_.batch, 1)[0];
        shared_ = batch_.shared_pages;
    }

    /// How many pages of the cache the chunk's prefixes have.
    [[nodiscard]] std::uint32_t shared_pages() const { return shared_; }
    /// Of the first so many items.
    [[nodiscard]] std::vector<decoder::PrefixPath> paths(std::size_t count) const {
        return read_back(memory_.shared.paths, count);
    }
    [[nodiscard]] TextCounts counts() const { return batch_.counts; }
    /// Rows of all passes.
    [[nodiscard]] std::uint64_t rows() const { return all_rows_; }
    [[nodiscard]] std::uint64_t prompts_with_pages() const { return prompts_with_pages_; }

    /// Checks the pass that is planned and gives each of its texts a token; false: there is none.
    bool take_pass() {
        batch_ = read_back(memory_.batch, 1)[0];
        if (batch_.more == 0) {
            return false;
        }
        entries_ = read_back(memory_.entries, sizes_.slots);
        rows_ = read_back(memory_.rows, sizes_.rows);
        texts_ = read_back(memory_.texts, sizes_.slots);
        table_ = read_back(memory_.page_table, std::size_t{sizes_.slots} * sizes_.text_pages);
        all_rows_ += batch_.rows;
        expect_whole_pass();
        for (std::uint32_t e = 0; e < batch_.entries; ++e) {  // before the pass's rows are there, too
            expect_past(entries_[e]);
        }
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
        EXPECT_EQ(batch_.free_pages, sizes_.pages);
        EXPECT_EQ(batch_.shared_pages, 0U);
        std::vector<std::uint32_t> pages = read_back(memory_.free_pages, sizes_.pages);
        std::ranges::sort(pages);
        for (std::uint32_t i = 0; i < sizes_.pages; ++i) {
            EXPECT_EQ(pages[i], i);
        }
        EXPECT_EQ(made_.size(), prompts_.size());
        for (const auto& [item, made] : made_) {
            EXPECT_EQ(made, sampling_.max_new) << item;
        }
    }

private:
    void expect_whole_pass() const {
        ASSERT_LE(batch_.rows, sizes_.rows);
        ASSERT_LE(batch_.entries, sizes_.slots);
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
                EXPECT_EQ(tile.past, entry.first_position);
            };
            const bool is_long = prompts_[texts_[entry.slot].item].size() >= memory_.long_prompt;
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
        std::vector<std::uint32_t> expected((batch_.rows + 15) / 16, decoder::no_page);
        for (std::uint32_t e = 0; e < batch_.beginning; ++e) {
            if (attends_in_product(e)) {
                expected[entries_[e].first_row / 16] = table_[entries_[e].slot * sizes_.text_pages];
                ++prompts_with_pages_;
            }
        }
        EXPECT_EQ(read_back(memory_.prompt_pages, expected.size()), expected);
    }

    [[nodiscard]] bool attends_in_product(std::uint32_t number) const {
        const std::uint32_t tile = entries_[number].first_row / 128;
        const auto of_tile = std::ranges::count_if(
            entries_.begin(), entries_.begin() + batch_.beginning, [&](const decoder::Entry& entry) {
                return entry.rows == 16 && entry.first_position == 0 && entry.first_row % 16 == 0 &&
                       entry.first_row / 128 == tile;
            });
        return memory_.prompt_pages != nullptr && memory_.long_prompt > 16 && of_tile == 8;
    }

    void expect_entry(std::uint32_t number) {
        const decoder::Entry& entry = entries_[number];
        decoder::Text& text = texts_[entry.slot];
        ASSERT_LT(text.item, prompts_.size());
        const bool begins = number < batch_.beginning;
        if (text.check == decoder::check_of_prefix) {
            ASSERT_TRUE(begins);
            ASSERT_EQ(entry.first_position % decoder::page_positions, 0U);
            ASSERT_EQ(entry.rows % decoder::page_positions, 0U);
            ASSERT_LT(entry.first_position + entry.rows, prompts_[text.item].size());
            expect_rows(entry, text.item);
            return;
        }
        ASSERT_EQ(text.prompt, prompts_[text.item].size());
        std::uint32_t& made = made_[text.item];
        ASSERT_EQ(text.made, made);
        ASSERT_EQ(begins, made == 0);
        ASSERT_EQ(entry.rows, begins ? text.prompt - entry.first_position : 1);
        ASSERT_EQ(entry.first_position, begins ? text.shared * decoder::page_positions : text.prompt + made - 1);
        expect_rows(entry, text.item);
        text.last = token_at(text.item, text.prompt + made);
        text.made = ++made;
        text.complete = made == sampling_.max_new ? 1 : 0;
    }

    /// What comes after a prompt is made up.
    [[nodiscard]] std::uint32_t token_at(std::uint32_t item, std::uint32_t position) const {
        const std::vector<std::uint32_t>& prompt = prompts_[item];
        return position < prompt.size() ? prompt[position] : item * 1000 + position;
    }

    /// In the cache.
    std::uint32_t& token_of(std::uint32_t slot, std::uint32_t position) {
        const std::uint32_t page = table_[slot * std::size_t{sizes_.text_pages} + position / decoder::page_positions];
        return cache_.at(std::size_t{page} * decoder::page_positions + position % decoder::page_positions);
    }

    /// The tokens before the entry's rows are in the cache.
    void expect_past(const decoder::Entry& entry) {
        const std::uint32_t item = texts_[entry.slot].item;
        for (std::uint32_t position = 0; position < entry.first_position; ++position) {
            ASSERT_EQ(token_of(entry.slot, position), token_at(item, position))
                << "item " << item << ", position " << position;
        }
    }

    /// The entry's rows go to the cache.
    void expect_rows(const decoder::Entry& entry, std::uint32_t item) {
        for (std::uint32_t i = 0; i < entry.rows; ++i) {
            const decoder::Row& row = rows_[entry.first_row + i];
            EXPECT_EQ(row.slot, entry.slot);
            EXPECT_EQ(row.position, entry.first_position + i);
            EXPECT_EQ(row.token, token_at(item, row.position));
            token_of(entry.slot, row.position) = row.token;
        }
    }

    void expect_own_pages() const {
        const auto shared = read_back(memory_.shared.pages, batch_.shared_pages);
        std::set<std::uint32_t> seen(shared.begin(), shared.end());
        std::uint32_t held = batch_.shared_pages;
        for (std::uint32_t slot = 0; slot < sizes_.slots; ++slot) {
            for (std::uint32_t i = texts_[slot].shared; i < texts_[slot].pages; ++i, ++held) {
                seen.insert(table_[slot * sizes_.text_pages + i]);
            }
            EXPECT_TRUE(texts_[slot].pages == 0 ||
                        texts_[slot].pages * 16 >= texts_[slot].prompt + sampling_.max_new - 1);
        }
        EXPECT_EQ(seen.size(), held);
        EXPECT_EQ(held + batch_.free_pages, sizes_.pages);
    }

    decoder::Sizes sizes_;
    TokenSampling sampling_;
    decoder::Rule rule_ = decoder::rule_of(sampling_);
    decoder::PlanMemory plan_;
    decoder::Memory memory_;
    std::unique_ptr<DeviceMemory> in_;
    std::unique_ptr<DeviceMemory> out_;
    Prompts prompts_;
    std::map<std::uint32_t, std::uint32_t> made_;  // tokens, by item
    std::uint64_t prompts_with_pages_ = 0;
    std::uint64_t all_rows_ = 0;
    std::uint32_t shared_ = 0;
    std::vector<std::uint32_t> cache_;
    decoder::Batch batch_{};
    std::vector<decoder::Entry> entries_;
    std::vector<decoder::Row> rows_;
    std::vector<decoder::Text> texts_;
    std::vector<std::uint32_t> table_;
};

/// Runs a chunk to its end.
inline void expect_all_passes(PlannedChunk& chunk, const Prompts& prompts, const TokenSampling& sampling) {
    chunk.begin(prompts);
    std::size_t passes = 0;
    while (chunk.take_pass()) {
        ASSERT_FALSE(testing::Test::HasFatalFailure());
        ASSERT_LT(++passes, prompts.size() * (sampling.max_new + std::size_t{1}));
    }
    chunk.expect_end();
}

}  // namespace sluice::test
