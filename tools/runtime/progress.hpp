#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "core/clock.hpp"
#include "core/wording.hpp"

namespace sluice {

/// Where a run stands, for people: "812 of 2000 items (40.6 %), 412 items/s, 0:03 left", with what earlier attempts
/// have done as count_text says it. Pure.
[[nodiscard]] std::string progress_text(const ItemCount& items, Seconds since_start);

/// The same with a bar in front, exactly `columns` wide or shorter. Pure.
[[nodiscard]] std::string progress_bar(const ItemCount& items, Seconds since_start, std::uint32_t columns);

/// When the next line of a log is due, after the start or the last news: after 2, 5, 10 and 30 s, then every 30 s.
/// Pure.
[[nodiscard]] Seconds next_line(Seconds passed);

/// Shows on stderr how many items are done, from construction to destruction: a bar on a terminal, a line
/// now and then elsewhere (next_line()).
class Progress {
public:
    /// `items_done` is called from a thread of its own, and tells what this run has done.
    Progress(std::uint64_t total, std::uint64_t before, std::function<std::uint64_t()> items_done);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

private:
    void show_until_over();

    std::uint64_t total_;
    std::uint64_t before_;
    std::function<std::uint64_t()> items_done_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace sluice
