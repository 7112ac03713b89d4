#include "scheduler/replay.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "core/device/device_queues.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

/// Chunks beyond are extrapolated at the rate of the second half of these.
constexpr std::uint64_t most_chunks = 20'000;

struct Engines {
    double copy = 0;  ///< Times at which the driver and the engines are free again.
    double upload = 0;
    double compute = 0;
    double download = 0;
    std::size_t next = 0;  ///< Index of the next ChunkDurations.
};

/// A stage shared by all devices. It serves requests as they arrive, in any chunk order, so it takes at least the sum
/// of its work.
class Shared {
public:
    /// Returns when work of length `time` that arrives at `at` is done.
    double serve(double at, double time) {
        begin_ = work_ == 0 ? at : std::min(begin_, at);
        work_ += time;
        return std::max(at + time, begin_ + work_);
    }

private:
    double begin_ = 0;
    double work_ = 0;
};

/// The last `size` values.
class Ring {
public:
    explicit Ring(std::size_t size) : values_(std::max<std::size_t>(size, 1)) {}
    [[nodiscard]] std::size_t size() const { return values_.size(); }
    [[nodiscard]] double oldest(std::uint64_t at) const { return values_[at % values_.size()]; }
    void put(std::uint64_t at, double value) { values_[at % values_.size()] = value; }

private:
    std::vector<double> values_;
};

class Replay {
public:
    explicit Replay(const ReplayPlan& plan)
        : plan_(plan),
          chunks_((plan.items + plan.chunk_items - 1) / plan.chunk_items),
          engines_(plan.devices.size()),
          is_serial_(plan.mode == PipelineMode::serial),
          readers_(plan.readers),
          staged_(is_serial_ ? 1 : plan.staged),
          window_(is_serial_ ? plan.devices.size() : plan.window),
          queues_(plan.devices.size(), window_.size(), 0),
          fixed_slots_(plan.devices.size(), Ring(is_serial_ ? 1 : plan.depth)) {
        for (std::size_t device = 0; device < plan.devices.size(); ++device) {
            for (std::uint32_t slot = 0; slot < (is_serial_ ? 1 : plan.depth); ++slot) {
                slots_.emplace(0.0, device);
            }
        }
    }

    [[nodiscard]] std::uint64_t chunks() const { return chunks_; }

    /// Returns when the chunk is written and committed.
    double pass(std::uint64_t chunk, double items) {
        const auto [asked, device] = take_slot(chunk);
        const double room = window_.oldest(chunk);
        const double may_read = is_serial_ ? std::max(asked, room) : staged_.oldest(chunk);
        const double read = std::max(may_read, readers_.oldest(chunk)) + items * plan_.read;
        readers_.put(chunk, read);
        double at = std::max({read, asked, room});
        take_returns(at);
        queues_.granted(chunk, static_cast<std::uint32_t>(device), nanoseconds_of(at));
        const ChunkDurations& times = next_times(device);
        at = scatter(device, at, items, times);
        staged_.put(chunk, at);
        at = compute(device, at, items, times);
        at = receive_.serve(at, items * plan_.gather);
        returns_.emplace(at, chunk);
        give_back(device, chunk, at);
        write_ = std::max(at, write_) + items * plan_.write;
        window_.put(chunk, write_);
        return write_;
    }

private:
    std::pair<double, std::size_t> take_slot(std::uint64_t chunk) {
        if (plan_.distribution == Distribution::fixed) {
            const std::size_t device = chunk % plan_.devices.size();
            return {fixed_slots_[device].oldest(chunk / plan_.devices.size()), device};
        }
        for (;;) {
            const Slot slot = slots_.top();
            slots_.pop();
            take_returns(slot.first);
            if (returns_.empty() || !queues_.has_to_wait(static_cast<std::uint32_t>(slot.second), chunks_ - chunk)) {
                return slot;
            }
            slots_.emplace(returns_.top().first, slot.second);  // until then nothing changes
        }
    }

    /// Those until `now`.
    void take_returns(double now) {
        for (; !returns_.empty() && returns_.top().first <= now; returns_.pop()) {
            queues_.returned(returns_.top().second, nanoseconds_of(returns_.top().first));
        }
    }

    static std::chrono::nanoseconds nanoseconds_of(double seconds) {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(seconds));
    }

    void give_back(std::size_t device, std::uint64_t chunk, double at) {
        if (plan_.distribution == Distribution::fixed) {
            fixed_slots_[device].put(chunk / plan_.devices.size(), at);
        } else {
            slots_.emplace(at, device);
        }
    }

    const ChunkDurations& next_times(std::size_t device) {
        const std::vector<ChunkDurations>& chunks = plan_.devices[device];
        return chunks[engines_[device].next++ % chunks.size()];
    }

    double scatter(std::size_t device, double at, double items, const ChunkDurations& times) {
        if (!times.copy) {
            return send_.serve(at, items * plan_.scatter);
        }
        double& free = engines_[device].copy;
        return free = std::max(at, free) + items / times.items * Seconds(*times.copy).count();
    }

    double compute(std::size_t device, double at, double items, const ChunkDurations& times) {
        Engines& engine = engines_[device];
        const double share = items / times.items;
        const auto serve = [&](double& free, std::chrono::nanoseconds time) {
            at = free = std::max(at, free) + share * Seconds(time).count();
        };
        serve(engine.upload, times.upload);
        serve(engine.compute, times.compute);
        serve(engine.download, times.download);
        return at;
    }

    template <class What>
    using Soonest = std::priority_queue<std::pair<double, What>, std::vector<std::pair<double, What>>, std::greater<>>;
    using Slot = std::pair<double, std::size_t>;  // time of its request, device

    const ReplayPlan& plan_;
    std::uint64_t chunks_;
    std::vector<Engines> engines_;
    bool is_serial_;
    Ring readers_;
    Ring staged_;
    Ring window_;
    DeviceQueues queues_;
    Soonest<std::size_t> slots_;
    Soonest<std::uint64_t> returns_;  // chunks that are under way, and when their results arrive
    std::vector<Ring> fixed_slots_;   // of each device
    Shared send_;
    Shared receive_;
    double write_ = 0;
};

}  // namespace

double replay(const ReplayPlan& plan) {
    expects(!plan.devices.empty() && plan.readers >= 1 && plan.chunk_items >= 1 && plan.depth >= 1,
            "replay: a device, a reader, an item a chunk and a slot at least");
    Replay replay(plan);
    const std::uint64_t chunks = replay.chunks();
    double end = 0;
    double half = 0;
    const std::uint64_t replayed = std::min(chunks, most_chunks);
    for (std::uint64_t chunk = 0; chunk < replayed; ++chunk) {
        const std::uint64_t left = plan.items - chunk * plan.chunk_items;
        end = replay.pass(chunk, static_cast<double>(std::min<std::uint64_t>(left, plan.chunk_items)));
        if (chunk + 1 == replayed / 2) {
            half = end;
        }
    }
    const double left = static_cast<double>(chunks - replayed);
    return end + left * (end - half) / static_cast<double>(std::max<std::uint64_t>(1, replayed - replayed / 2));
}

}  // namespace sluice
