#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/input/item_source.hpp"
#include "core/modes.hpp"
#include "core/wording.hpp"
#include "scheduler/attempt_summary.hpp"
#include "scheduler/rank_report.hpp"
#include "scheduler/reading.hpp"
#include "scheduler/roofline.hpp"
#include "scheduler/verdict.hpp"

namespace sluice {

/// What rank 0 knows of a rank that it cannot ask any more.
struct LostRank {
    int rank = 0;
    std::string host;
    std::uint32_t devices = 0;
    std::uint64_t chunks = 0;  ///< That it has returned.
    std::uint64_t items = 0;
};

/// All that is known at the end of a run, on rank 0.
struct RunReport {
    std::uint64_t items = 0;         ///< In the input.
    std::uint64_t items_done = 0;    ///< Finished in this run.
    std::uint64_t items_before = 0;  ///< That earlier attempts have finished.
    std::uint64_t chunks = 0;
    std::uint32_t chunk_items = 0;
    std::uint32_t depth = 0;
    QueueSizes queues{};
    EncoderThreads encoders{};
    PipelineMode mode = PipelineMode::overlap;
    Distribution distribution = Distribution::pull;
    DeviceKind device = DeviceKind::host;
    Precision precision = Precision::fp32;
    std::string device_note{};        ///< Why the device is not what one might expect; may be empty.
    std::string chunk_note{};         ///< Why chunks are as large as they are; may be empty.
    std::vector<RankReport> ranks{};  ///< In the order of their numbers; at least one.
    std::uint32_t clock_rounds = 0;   ///< Of ping-pong at each alignment of the ranks' clocks; 0: there was none.
    InputReads input{};               ///< Of its file.
    Provenance provenance{};
    Roofline roofline{};
    std::vector<LinkTraffic> links{};  ///< To each other rank.
    std::string output_path{};
    std::string report_path{};
    std::string ended_by{};  ///< What ended the run before its end; empty: it came to its end, or was stopped.
    std::vector<std::uint64_t> failed_items{};  ///< Left out of the output, in this attempt or an earlier one.
    std::vector<LostRank> lost{};               ///< Those that are not in `ranks`, because the run's end was sudden.
    std::vector<AttemptSummary> attempts{};     ///< All at this job so far, in order, this one included.

    [[nodiscard]] ItemCount count() const noexcept {
        return {.done = items_before + items_done, .total = items, .before = items_before};
    }

    /// Of all ranks.
    [[nodiscard]] std::optional<Certification> certification() const;
    [[nodiscard]] std::vector<ModelCount> counts() const;

    /// Of all ranks, those that are lost too.
    [[nodiscard]] std::size_t devices() const noexcept;

    /// The largest of all ranks' clocks.
    [[nodiscard]] std::chrono::nanoseconds clock_error() const;

    /// It ended early.
    [[nodiscard]] bool partial() const noexcept { return items_before + items_done < items || !ended_by.empty(); }
};

enum class TableForm : std::uint8_t {
    brief,  ///< Header, a line a stage, the wall's shares, notes and the verdict: a dozen lines.
    full,   ///< Also one column a rank and one row an event, and each stage's and the wall's times.
};

/// The report for people; the verdict is its last line. Beyond 8 ranks the columns wrap; beyond 64 ranks they are rank
/// 0, minimum, median and maximum. Withheld, with the reason, when the timers are invalid. docs/latency-table.md.
[[nodiscard]] std::string latency_table(const RunReport& report, TableForm form);

/// The same for machines, complete for any number of ranks. `config` is stored as it is. docs/latency-table.md has the
/// schema.
[[nodiscard]] nlohmann::json report_json(const RunReport& report, const nlohmann::json& config);

/// The file's text, valid UTF-8 whatever the strings hold.
[[nodiscard]] std::string report_file_text(const RunReport& report, const nlohmann::json& config);

/// Whether `text` is that of a report's file, of this version or an earlier one; of this one its start will do.
[[nodiscard]] bool is_report(std::string_view text);

/// As the job file spells them.
[[nodiscard]] std::string_view word_for(PipelineMode mode);
[[nodiscard]] std::string_view word_for(Distribution distribution);
[[nodiscard]] std::string_view word_for(DeviceKind device);

/// What binds the run; nothing when ranks are lost.
[[nodiscard]] Verdict verdict_of(const RunReport& report);

/// Why the times of some rank cannot be trusted ("rank 3 on n07: …"), "" when they can.
[[nodiscard]] std::string why_withheld(const RunReport& report);

}  // namespace sluice
