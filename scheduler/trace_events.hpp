#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/clock.hpp"
#include "core/trace/trace.hpp"

namespace sluice {

// A run's spans of time as a timeline that https://ui.perfetto.dev and chrome://tracing show, in the JSON of Chrome's
// "Trace Event Format": a process per rank; in it a track for each stage of each device, each host thread, the phases
// of start and end, and suspensions.

/// Spans that a trace of `ranks` ranks holds of each.
[[nodiscard]] std::size_t most_spans_of_rank(std::size_t ranks);

/// One rank's events, in microseconds since `origin`; what was before counts as then. If they are more than
/// `most_spans`, the middle of long tracks is left out, and the process is labelled with how many spans that were.
/// Spans of a track that overlap, as messages do, become asynchronous events, a device's by the name of their track.
[[nodiscard]] std::string trace_events(const RankTrace& trace, Instant origin, std::size_t most_spans);

/// What stands before, between and after the events of ranks in a trace file.
struct TraceFile {
    /// `facts`, "version": "1.0", … , are shown beside the timeline.
    [[nodiscard]] static std::string begin(std::span<const std::pair<std::string, std::string>> facts);
    static constexpr std::string_view between = ",\n";
    static constexpr std::string_view end = "\n]}\n";
};

/// Whether `text` begins as a trace file does.
[[nodiscard]] bool is_trace(std::string_view text);

}  // namespace sluice
