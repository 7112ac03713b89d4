#pragma once

#include <cstdint>
#include <exception>
#include <random>
#include <set>
#include <vector>

#include "core/chunk_grid.hpp"
#include "core/sync/completion_counter.hpp"
#include "core/transport.hpp"
#include "tests/support/fake_job.hpp"
#include "tests/support/recording_device.hpp"

namespace sluice::test {

/// A transport that also advances the device: each time that the pipeline asks for the bell, one possible and permitted
/// step happens. Thus a run is single-threaded, and the seed determines the interleaving. If nothing can happen while
/// the pipeline waits, all events fail.
class RecordingTransport final : public Transport {
public:
    RecordingTransport(Script& script, RecordingDevice& device, const ChunkGrid& grid, std::uint32_t depth,
                       std::uint64_t seed)
        : script_(script),
          device_(device),
          grid_(grid),
          depth_(depth),
          random_(seed),
          arrivals_(depth),
          requests_(2 * std::size_t{depth}, &bell_),
          deliveries_(2 * std::size_t{depth}, &bell_) {}

    [[nodiscard]] Ticket request(std::span<std::byte> to) override {
        if (script_.fails == fmt::format("request {}", targets_.size())) {
            throw std::runtime_error(script_.fails + " failed");
        }
        expects(!in_use_.contains(to.data()), "a buffer was reused before its chunk's results were delivered");
        in_use_.insert(to.data());
        most_in_flight_ = std::max(most_in_flight_, in_use_.size());
        const std::size_t slot = targets_.size() % depth_;
        targets_.push_back(to);
        script_.log.push_back(fmt::format("request {}", targets_.size() - 1));
        return {.arrived = Event(requests_, targets_.size()), .arrival = &arrivals_[slot]};
    }

    /// Looks at `permits`, but does not obey: the driver itself copies.
    [[nodiscard]] Interval fetch(const Ticket& ticket) override {
        const Chunk& chunk = ticket.arrival->chunk;
        expects(chunk == grid_.at(fetched_), "chunks are fetched in their order");
        const std::string step = fmt::format("fetch {}", chunk.id);
        static_cast<void>(script_.permits(step));
        const Instant began = Clock::now();
        for (std::uint32_t i = 0; i < chunk.count; ++i) {
            fake_item(chunk.first + i, targets_[fetched_].subspan(std::size_t{i} * fake_input_bytes, fake_input_bytes));
        }
        ++fetched_;
        script_.log.push_back(step);
        return {began, Clock::now()};
    }

    [[nodiscard]] Event deliver(const Chunk& chunk, std::span<const std::byte> from) override {
        expects(chunk == grid_.at(sources_.size()), "results are delivered in the order of their chunks");
        sources_.push_back(from);
        script_.log.push_back(fmt::format("deliver {}", chunk.id));
        return {deliveries_, sources_.size()};
    }

    [[nodiscard]] Doorbell& bell() noexcept override {
        const std::uint32_t before = bell_.listen();
        do {
            if (!do_one_thing()) {
                ++idle_looks_;
                bell_.ring();  // let it look once more, in case that it has not yet
            } else if (!device_.rings() || random_() % 2 == 0) {
                bell_.ring();  // a bell may ring without reason, and who polls looks at any time
            }
        } while (bell_.listen() == before);  // what does not ring happens while the pipeline sleeps
        if (idle_looks_ > most_idle_looks) {
            const auto stuck = std::make_exception_ptr(std::logic_error("the pipeline waits for nothing"));
            requests_.abandon(stuck);
            deliveries_.abandon(stuck);
        }
        return bell_;
    }

    [[nodiscard]] std::size_t most_in_flight() const noexcept { return most_in_flight_; }
    [[nodiscard]] std::size_t requests() const noexcept { return targets_.size(); }
    [[nodiscard]] std::size_t answers() const noexcept { return answered_; }
    [[nodiscard]] const std::vector<std::uint64_t>& results() const noexcept { return results_; }

private:
    static constexpr int most_idle_looks = 10;

    /// Returns false if nothing can happen.
    [[nodiscard]] bool do_one_thing() {
        std::vector<std::function<void()>> possible;
        for (RecordingStream* const stream : device_.streams()) {
            const std::string* const next = stream->next();
            if (next != nullptr && script_.permits(*next)) {
                possible.emplace_back([stream] { stream->perform_next(); });
            }
        }
        if (answered_ < targets_.size() && script_.permits(fmt::format("arrive {}", answered_))) {
            possible.emplace_back([this] { answer(); });
        }
        if (results_taken_ < sources_.size() && script_.permits(fmt::format("delivered {}", results_taken_))) {
            possible.emplace_back([this] { take_results(); });
        }
        if (possible.empty()) {
            return false;
        }
        idle_looks_ = 0;
        possible[random_() % possible.size()]();
        return true;
    }

    void answer() {
        const Chunk chunk = answered_ < grid_.chunks() ? grid_.at(answered_) : grid_.end();
        script_.log.push_back(fmt::format("arrive {}", answered_));
        arrivals_[answered_ % depth_] = {chunk, Clock::now()};
        if (chunk.end_of_input()) {
            in_use_.erase(targets_[answered_].data());
        }
        ++answered_;
        requests_.complete();
    }

    void take_results() {
        const std::span<const std::byte> from = sources_[results_taken_];
        for (std::size_t at = 0; at < from.size(); at += fake_output_bytes) {
            std::uint64_t value = 0;
            std::memcpy(&value, from.data() + at, sizeof value);
            results_.push_back(value);
        }
        script_.log.push_back(fmt::format("delivered {}", results_taken_));
        in_use_.erase(targets_[results_taken_].data());
        ++results_taken_;
        deliveries_.complete();
    }

    Script& script_;
    RecordingDevice& device_;
    ChunkGrid grid_;
    std::uint32_t depth_;
    std::mt19937_64 random_;
    Doorbell bell_;
    std::vector<Arrival> arrivals_;
    CompletionCounter requests_;
    CompletionCounter deliveries_;
    std::vector<std::span<std::byte>> targets_;        // one a request
    std::vector<std::span<const std::byte>> sources_;  // one a delivery
    std::set<const std::byte*> in_use_;
    std::vector<std::uint64_t> results_;
    std::size_t answered_ = 0;
    std::size_t fetched_ = 0;
    std::size_t results_taken_ = 0;
    std::size_t most_in_flight_ = 0;
    int idle_looks_ = 0;
};

}  // namespace sluice::test
