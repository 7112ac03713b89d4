#include <signal.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "core/device/host_stream.hpp"
#include "tests/e2e/babble_model.hpp"

namespace sluice::test {
namespace {

constexpr std::size_t row_count = 5;

class HostBabble final : public Model {
public:
    explicit HostBabble(const BabbleOptions& options) : options_(options), rows_(row_count) {}

    [[nodiscard]] IoShape shape() const noexcept override { return babble_shape; }
    [[nodiscard]] std::uint32_t lag() const noexcept override { return babble_lag; }
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override {
        as_host(stream).run([this, items, in, out] {
            chunks_.push_back({.in = in, .out = out, .items = items});
            step_until_at_most(babble_lag);
        });
    }
    void finish(Stream& stream) override {
        as_host(stream).run([this] { step_until_at_most(0); });
    }

private:
    struct HeldChunk {
        std::span<const std::byte> in{};
        std::span<std::byte> out{};
        std::size_t items = 0;
        std::size_t taken = 0;
        std::size_t done = 0;
    };
    struct BusyRow {
        HeldChunk* chunk = nullptr;  // null: free
        std::size_t place = 0;       // in its chunk
        BabbleItem text{};
    };

    void step_until_at_most(std::size_t chunks) {
        while (chunks_.size() > chunks) {
            for (BusyRow& row : rows_) {
                refill(row);
                step(row);
            }
            while (!chunks_.empty() && chunks_.front().done == chunks_.front().items) {
                chunks_.pop_front();
            }
        }
    }

    void refill(BusyRow& row) {
        const auto next = std::ranges::find_if(chunks_, [](const HeldChunk& c) { return c.taken < c.items; });
        if (row.chunk == nullptr && next != chunks_.end()) {
            row.chunk = &*next;
            row.place = next->taken++;
            std::memcpy(&row.text, next->in.data() + row.place * sizeof(BabbleItem), sizeof(BabbleItem));
        }
    }

    void step(BusyRow& row) {
        if (row.chunk == nullptr) {
            return;
        }
        const std::uint32_t letter = next_letter(options_, row.text.number, row.text.length);
        if (letter != babble_letters) {
            row.text.letters[row.text.length++] = static_cast<std::uint8_t>(letter);
            return;
        }
        if (row.text.number == options_.deadly) {
            ::raise(SIGSEGV);
        }
        BabbleRecord record{.length = row.text.length};
        std::memcpy(record.letters, row.text.letters, sizeof record.letters);
        std::memcpy(row.chunk->out.data() + row.place * sizeof record, &record, sizeof record);
        ++row.chunk->done;
        row.chunk = nullptr;
    }

    BabbleOptions options_;
    std::deque<HeldChunk> chunks_;  // of the compute stream, as the rows are
    std::vector<BusyRow> rows_;
};

}  // namespace

std::unique_ptr<Model> make_host_babble(const BabbleOptions& options) {
    return std::make_unique<HostBabble>(options);
}

}  // namespace sluice::test
