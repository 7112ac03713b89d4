#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/input/item_source.hpp"
#include "core/modes.hpp"
#include "core/text/wording.hpp"
#include "scheduler/attempt_summary.hpp"
#include "scheduler/rank_report.hpp"
#include "scheduler/reading.hpp"
#include "scheduler/roofline.hpp"

namespace sluice {

/// Threads that encode result rows on rank 0.
struct EncoderThreads {
    std::uint32_t used = 1;
    std::uint32_t useful = 1;  ///< Threads that it would use with a core for each.
};

/// What rank 0 knows of a rank that no longer responds.
struct LostRank {
    int rank = 0;
    std::string host;
    std::uint32_t devices = 0;
    std::uint64_t chunks = 0;  ///< Returned by it.
    std::uint64_t items = 0;
};

/// Rank 0's knowledge at the end of a run.
struct RunReport {
    std::uint64_t items = 0;         ///< In the input.
    std::uint64_t items_done = 0;    ///< Finished in this run.
    std::uint64_t items_before = 0;  ///< Finished by earlier attempts.
    std::uint64_t chunks = 0;
    std::uint32_t chunk_items = 1;
    std::uint32_t depth = 1;
    QueueSizes queues{};
    EncoderThreads encoders{};
    PipelineMode mode = PipelineMode::overlap;
    Distribution distribution = Distribution::pull;
    DeviceKind device = DeviceKind::host;
    Precision precision = Precision::fp32;
    std::string device_note{};        ///< Why the device may be unexpected; may be empty.
    std::string chunk_note{};         ///< Why the chunks have this size; may be empty.
    std::vector<RankReport> ranks{};  ///< In rank order; at least one.
    std::uint32_t clock_rounds = 0;   ///< Ping-pong rounds per clock alignment; 0: none was made.
    InputReads input{};               ///< Of the input file.
    Provenance provenance{};
    Roofline roofline{};
    std::vector<LinkTraffic> links{};  ///< One per rank other than 0.
    std::string output_path{};
    std::string report_path{};
    std::string ended_by{};                     ///< What ended the run early; empty: it completed, or was stopped.
    std::vector<std::uint64_t> failed_items{};  ///< Left out of the output, in this attempt or an earlier one.
    std::optional<std::uint64_t> cut_texts{};   ///< Of items_done; nullopt: the app reads texts of any length.
    std::vector<LostRank> lost{};               ///< Ranks missing from `ranks` because the run ended suddenly.
    std::vector<AttemptSummary> attempts{};     ///< Of this job so far, in order, including this one.

    [[nodiscard]] ItemCount count() const noexcept {
        return {.done = items_before + items_done, .total = items, .before = items_before};
    }

    /// Of all ranks.
    [[nodiscard]] std::optional<Certification> certification() const;
    /// With cut_texts, where the app may cut some.
    [[nodiscard]] std::vector<ModelCount> counts() const;

    /// Over all ranks, lost ones included.
    [[nodiscard]] std::size_t devices() const noexcept;

    /// Largest clock error of any rank.
    [[nodiscard]] std::chrono::nanoseconds clock_error() const;

    /// Whether the run ended early.
    [[nodiscard]] bool partial() const noexcept { return items_before + items_done < items || !ended_by.empty(); }
};

enum class TableForm : std::uint8_t {
    brief,  ///< Header, a line per stage, shares of the wall time, notes and the verdict: a dozen lines.
    full,   ///< Also events, stage times and wall view, one column per rank.
};

/// Human-readable report; the verdict is its last line. Beyond 8 ranks the columns wrap; beyond 64 ranks they are rank
/// 0, minimum, median and maximum. Withheld, with the reason, when the timers are invalid. See docs/latency-table.md.
[[nodiscard]] std::string latency_table(const RunReport& report, TableForm form);

/// Machine-readable report, complete for any number of ranks. `config` is stored unchanged. Schema:
/// docs/latency-table.md.
[[nodiscard]] nlohmann::json report_json(const RunReport& report, const nlohmann::json& config);

/// Text of the report file; valid UTF-8 for any strings.
[[nodiscard]] std::string report_file_text(const RunReport& report, const nlohmann::json& config);

/// What "schema" is in a report's file: it goes up when a key changes its meaning or goes away.
inline constexpr int report_schema = 2;

/// Bytes that a report's file has at most: some KiB a rank.
inline constexpr std::size_t longest_report = std::size_t{256} << 20U;

/// Whether `text` is a report file of this or an earlier version; for this version its beginning suffices.
[[nodiscard]] bool is_report(std::string_view text);

/// Why a rank's times cannot be trusted ("rank 3 on n07: …"); "" if all can.
[[nodiscard]] std::string why_withheld(const RunReport& report);

}  // namespace sluice
