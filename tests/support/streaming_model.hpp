#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "tests/support/fake_job.hpp"
#include "tests/support/recording_device.hpp"

namespace sluice::test {

/// Steps of an item in the streaming model.
inline std::uint32_t rounds_of(std::span<const std::byte> item) {
    return 1 + static_cast<std::uint32_t>(fake_result(item) % 7);
}

inline std::uint64_t streamed_result(std::span<const std::byte> item) {
    std::uint64_t value = fake_result(item);
    for (std::uint32_t i = rounds_of(item); i > 0; --i) {
        value = mix(value);
    }
    return value;
}

inline std::vector<std::uint64_t> streamed_results(std::uint64_t items) {
    std::vector<std::uint64_t> results;
    std::vector<std::byte> item(fake_input_bytes);
    for (std::uint64_t i = 0; i < items; ++i) {
        fake_item(i, item);
        results.push_back(streamed_result(item));
    }
    return results;
}

/// A resident batch that refills itself: each row holds an item of any chunk, and all rows take a step at once. A row
/// whose item is done writes the output to the item's chunk and takes the next item. forward() returns as soon as at
/// most `lag` chunks are unfinished. For host and recording devices.
class StreamingModel final : public Model {
public:
    using OnItem = void (*)(std::uint32_t index);

    /// `on_item`, if given, is called on the compute stream when an item is done.
    StreamingModel(std::size_t rows, std::uint32_t lag, OnItem on_item = nullptr)
        : rows_(rows), lag_(lag), on_item_(on_item) {}

    [[nodiscard]] IoShape shape() const noexcept override { return {fake_input_bytes, fake_output_bytes}; }
    [[nodiscard]] std::uint32_t lag() const noexcept override { return lag_; }

    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override {
        enqueue(stream, [this, items, in, out] {
            chunks_.push_back({.in = in, .out = out, .items = items, .next = 0, .done = 0});
            run_until_at_most(lag_);
        });
    }

    void finish(Stream& stream) override {
        enqueue(stream, [this] {
            finishes_ += 1;
            run_until_at_most(0);
        });
    }

    /// Number of finish() calls; call once its streams are destroyed.
    [[nodiscard]] std::uint64_t finishes() const noexcept { return finishes_; }

private:
    struct ResidentChunk {
        std::span<const std::byte> in;
        std::span<std::byte> out;
        std::size_t items;
        std::size_t next;  // item that no row has taken yet
        std::size_t done;
    };
    struct Row {
        ResidentChunk* chunk = nullptr;  // null: free
        std::size_t item = 0;
        std::uint64_t value = 0;
        std::uint32_t rounds = 0;
    };

    template <class Task>
    static void enqueue(Stream& stream, Task task) {
        if (auto* const recording = dynamic_cast<RecordingStream*>(&stream); recording != nullptr) {
            recording->run(task);
        } else {
            as_host(stream).run(task);
        }
    }

    void run_until_at_most(std::size_t chunks) {
        while (chunks_.size() > chunks) {
            for (Row& row : rows_) {
                refill(row);
                step(row);
            }
            while (!chunks_.empty() && chunks_.front().done == chunks_.front().items) {
                chunks_.pop_front();
            }
        }
    }

    void refill(Row& row) {
        for (ResidentChunk& chunk : chunks_) {
            if (row.chunk == nullptr && chunk.next < chunk.items) {
                const auto item = chunk.in.subspan(chunk.next * fake_input_bytes, fake_input_bytes);
                row = {.chunk = &chunk, .item = chunk.next, .value = fake_result(item), .rounds = rounds_of(item)};
                ++chunk.next;
            }
        }
    }

    void step(Row& row) {
        if (row.chunk == nullptr) {
            return;
        }
        row.value = mix(row.value);
        if (--row.rounds == 0) {
            if (on_item_ != nullptr) {
                on_item_(index_in(row.chunk->in.subspan(row.item * fake_input_bytes, fake_input_bytes)));
            }
            std::memcpy(row.chunk->out.data() + row.item * fake_output_bytes, &row.value, sizeof row.value);
            ++row.chunk->done;
            row.chunk = nullptr;
        }
    }

    std::deque<ResidentChunk> chunks_;  // of the compute stream, as the rows are
    std::vector<Row> rows_;
    std::uint32_t lag_;
    OnItem on_item_;
    std::uint64_t finishes_ = 0;
};

}  // namespace sluice::test
