#include "scheduler/trace_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "scheduler/breakdown.hpp"

namespace sluice {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t most_spans_of_run = 2'000'000;  // some 250 MB
constexpr std::size_t most_of_rank = 200'000;         // some 25 to 50 MB, which rank 0 holds of each
constexpr std::size_t least_of_rank = 2'000;
constexpr std::string_view file_start = "{\"otherData\": {\"format\": \"sluice trace\"";

struct Span {
    std::string_view name;
    Interval time;
    std::optional<std::uint64_t> chunk{};
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;
};

struct Track {
    std::string name;
    bool is_of_device = false;
    std::vector<Span> spans{};
};

std::vector<Track> tracks_of(const RankTrace& trace) {
    std::vector<Track> tracks;
    Track& phases = tracks.emplace_back(Track{"phases"});
    for (const PhaseSpan& phase : trace.phases) {
        phases.spans.push_back({.name = to_string(phase.phase), .time = phase.time});
    }
    Track& suspensions = tracks.emplace_back(Track{"suspended"});
    for (const Interval& time : trace.suspended) {
        suspensions.spans.push_back({.name = "suspended", .time = time});
    }
    for (std::size_t device = 0; device < trace.devices.size(); ++device) {
        for (const auto& [stage, member] : chunk_stages) {
            Track& track = tracks.emplace_back(Track{
                .name = fmt::format("{}: {}", device_name(trace, device), to_string(stage)), .is_of_device = true});
            for (const ChunkSpans& chunk : trace.devices[device].chunks()) {
                track.spans.push_back({.name = to_string(stage),
                                       .time = chunk.*member,
                                       .chunk = chunk.chunk.id,
                                       .items = chunk.chunk.count});
            }
        }
    }
    for (const ThreadTrace& thread : trace.threads) {
        Track& track = tracks.emplace_back(Track{thread.name()});
        for (const ThreadSpan& span : thread.spans()) {
            track.spans.push_back(
                {.name = to_string(span.stage), .time = span.busy, .items = span.items, .bytes = span.bytes});
        }
    }
    for (Track& track : tracks) {
        std::erase_if(track.spans, [](const Span& span) { return span.time == Interval{}; });
        std::ranges::stable_sort(track.spans, {}, [](const Span& span) { return span.time.begin; });
    }
    std::erase_if(tracks, [](const Track& track) { return track.spans.empty(); });
    return tracks;
}

/// The most spans that each track may have for all to have `most` together: short tracks leave theirs to long ones.
std::size_t most_of_track(const std::vector<Track>& tracks, std::size_t most) {
    std::vector<std::size_t> sizes;
    std::ranges::transform(tracks, std::back_inserter(sizes), [](const Track& track) { return track.spans.size(); });
    std::ranges::sort(sizes);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::size_t share = most / (sizes.size() - i);
        if (sizes[i] > share) {
            return std::max<std::size_t>(share, 2);
        }
        most -= sizes[i];
    }
    return std::numeric_limits<std::size_t>::max();
}

/// Leaves the middle out of `spans` if they are more than `most`; returns how many these were.
std::size_t shorten(std::vector<Span>& spans, std::size_t most) {
    if (spans.size() <= most) {
        return 0;
    }
    const std::size_t out = spans.size() - most;
    const auto from = spans.begin() + static_cast<std::ptrdiff_t>(most / 2);
    spans.erase(from, from + static_cast<std::ptrdiff_t>(out));
    return out;
}

bool overlap(const std::vector<Span>& spans) {
    const auto begins_before_end = [](const Span& one, const Span& next) { return next.time.begin < one.time.end; };
    return std::ranges::adjacent_find(spans, begins_before_end) != spans.end();
}

std::string in_microseconds(nanoseconds time) {
    return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
}

/// A JSON string.
std::string json_text(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Writer {
public:
    Writer(int rank, Instant origin) : rank_(rank), origin_(origin) {}

    void name(std::string_view what, std::size_t track, std::string_view key, std::string_view value) {
        describe(what, track, key, json_text(value));
    }

    void order(std::string_view what, std::size_t track, std::size_t index) {
        describe(what, track, "sort_index", fmt::to_string(index));
    }

    void span(const Span& span, std::size_t track) {
        const nanoseconds begin = since_origin(span.time.begin);
        add(R"({{"ph":"X","cat":"{0}","pid":{1},"tid":{2},"name":"{0}","ts":{3},"dur":{4},"args":{5}}})", span.name,
            rank_, track, in_microseconds(begin), in_microseconds(since_origin(span.time.end) - begin), args(span));
    }

    /// Perfetto draws asynchronous events outside of their thread's track, those of one name together.
    void asynchronous(const Span& span, std::size_t track, std::string_view name) {
        const std::string which = fmt::format(R"("cat":"{}","id":"{}.{}","pid":{},"tid":{},"name":{})", span.name,
                                              rank_, asynchronous_++, rank_, track, json_text(name));
        add(R"({{"ph":"b",{},"ts":{},"args":{}}})", which, in_microseconds(since_origin(span.time.begin)), args(span));
        add(R"({{"ph":"e",{},"ts":{}}})", which, in_microseconds(since_origin(span.time.end)));
    }

    [[nodiscard]] std::string text() && { return std::move(text_); }

private:
    /// Category and time are what some readers ask of every event.
    void describe(std::string_view what, std::size_t track, std::string_view key, std::string_view value) {
        add(R"({{"ph":"M","cat":"__metadata","pid":{},"tid":{},"name":"{}","ts":0,"args":{{"{}":{}}}}})", rank_, track,
            what, key, value);
    }

    template <class... Values>
    void add(fmt::format_string<Values...> format, Values&&... values) {
        if (!text_.empty()) {
            text_ += TraceFile::between;
        }
        fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    }

    [[nodiscard]] nanoseconds since_origin(Instant at) const { return std::max(at, origin_) - origin_; }

    static std::string args(const Span& span) {
        std::string text;
        const auto add_number = [&](std::string_view name, std::uint64_t number) {
            text += fmt::format(R"({}"{}":{})", text.empty() ? "" : ",", name, number);
        };
        if (span.chunk) {
            add_number("chunk", *span.chunk);
        }
        if (span.items != 0) {
            add_number("items", span.items);
        }
        if (span.bytes != 0) {
            add_number("bytes", span.bytes);
        }
        return "{" + text + "}";
    }

    int rank_;
    Instant origin_;
    std::string text_;
    std::uint64_t asynchronous_ = 0;
};

}  // namespace

std::size_t most_spans_of_rank(std::size_t ranks) {
    return std::clamp(most_spans_of_run / std::max<std::size_t>(ranks, 1), least_of_rank, most_of_rank);
}

std::string trace_events(const RankTrace& trace, Instant origin, std::size_t most_spans) {
    std::vector<Track> tracks = tracks_of(trace);
    const std::size_t most = most_of_track(tracks, most_spans);
    std::size_t left_out = 0;
    for (Track& track : tracks) {
        left_out += shorten(track.spans, most);
    }
    Writer writer(trace.rank, origin);
    writer.name("process_name", 0, "name", fmt::format("rank {} on {}", trace.rank, escaped(trace.host)));
    writer.order("process_sort_index", 0, static_cast<std::size_t>(trace.rank));
    if (left_out != 0) {
        writer.name("process_labels", 0, "labels", fmt::format("{} spans of the middle are left out", left_out));
    }
    for (std::size_t i = 0; i < tracks.size(); ++i) {
        const std::size_t number = i + 1;
        writer.name("thread_name", number, "name", tracks[i].name);
        writer.order("thread_sort_index", number, number);
        const bool is_asynchronous = overlap(tracks[i].spans);
        for (const Span& span : tracks[i].spans) {
            if (is_asynchronous) {
                writer.asynchronous(span, number, tracks[i].is_of_device ? tracks[i].name : span.name);
            } else {
                writer.span(span, number);
            }
        }
    }
    return std::move(writer).text();
}

std::string TraceFile::begin(std::span<const std::pair<std::string, std::string>> facts) {
    std::string text(file_start);
    for (const auto& [name, value] : facts) {
        text += fmt::format(", {}: {}", json_text(name), json_text(value));
    }
    return text + "},\n\"traceEvents\": [\n";
}

bool is_trace(std::string_view text) {
    return text.starts_with(file_start);
}

}  // namespace sluice
