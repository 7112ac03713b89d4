#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/trace/duration_histogram.hpp"
#include "core/trace/trace.hpp"

namespace sluice {

/// What one thread or stream of a rank is at, for whoever watches it for hangs. Its owner writes, anyone reads: no
/// lock, a few relaxed stores.
class Activity {
public:
    static constexpr std::uint64_t no_chunk = UINT64_MAX;
    enum class Doing : std::uint8_t { nothing, work, wait };

    struct State {
        Doing doing = Doing::nothing;    ///< nothing: not begun, or ended.
        Stage stage = Stage::read;       ///< That it works on, or waits for.
        std::uint64_t chunk = no_chunk;  ///< If there is one.
        std::uint64_t moves = 0;         ///< Goes up with everything that it gets done.
        std::uint64_t p99_ns = 0;        ///< 99 % of its chunks took no longer, if it says so.
    };

    /// It has begun something, or moved on to something else.
    void work(Stage stage, std::uint64_t chunk) noexcept { set(Doing::work, stage, chunk); }
    /// Others have to do something first.
    void wait(Stage stage, std::uint64_t chunk = no_chunk) noexcept { set(Doing::wait, stage, chunk); }
    void end() noexcept { set(Doing::nothing, Stage::read, no_chunk); }

    /// It has got on with what it is at.
    void move() noexcept { moves_.store(moves_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

    /// A chunk took it so long.
    void took(std::uint64_t nanoseconds) noexcept { chunk_times_.add(nanoseconds); }

    [[nodiscard]] State state() const noexcept;

private:
    void set(Doing doing, Stage stage, std::uint64_t chunk) noexcept {
        doing_.store(doing, std::memory_order_relaxed);
        stage_.store(stage, std::memory_order_relaxed);
        chunk_.store(chunk, std::memory_order_relaxed);
        move();
    }

    std::atomic<Doing> doing_{Doing::nothing};
    std::atomic<Stage> stage_{Stage::read};
    std::atomic<std::uint64_t> chunk_{no_chunk};
    std::atomic<std::uint64_t> moves_{0};
    DurationHistogram chunk_times_;
};

enum class ActivityKind : std::uint8_t { comm, reader, writer, device, stream };

/// All activities of a process. They live as long as it: a thread that has ended leaves its activity behind.
class Activities {
public:
    struct View {
        ActivityKind kind = ActivityKind::comm;
        std::string name;         ///< "reader 1", "device 0 compute stream".
        std::uint32_t group = 0;  ///< The activities of one device share one: while one of them gets on, none hangs.
        Activity::State state;
    };

    /// A new activity, in a group of its own or in `group`. It stays where it is.
    Activity& add(ActivityKind kind, std::string name);
    Activity& add(ActivityKind kind, std::string name, std::uint32_t group);
    [[nodiscard]] std::uint32_t new_group();

    /// In the order in which they were added.
    [[nodiscard]] std::vector<View> look() const;

private:
    struct Entry {
        Entry(ActivityKind of_kind, std::string named, std::uint32_t in_group)
            : kind(of_kind), name(std::move(named)), group(in_group) {}
        ActivityKind kind;
        std::string name;
        std::uint32_t group;
        Activity activity{};
    };

    mutable std::mutex mutex_;  // of the list, not of the activities
    std::deque<Entry> entries_;
    std::uint32_t groups_ = 0;
};

/// "reader 1: reads chunk 12", "writer: waits for the results of chunk 7".
[[nodiscard]] std::string describe(const Activities::View& activity);

}  // namespace sluice
