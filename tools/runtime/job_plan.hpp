#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/app.hpp"
#include "core/chunk_grid.hpp"
#include "core/commit/attempt_history.hpp"
#include "core/commit/committed_output.hpp"
#include "core/commit/held_folder.hpp"
#include "core/config/config.hpp"
#include "core/input/item_source.hpp"
#include "core/input/weights_file.hpp"
#include "core/stage_error.hpp"
#include "core/trace/trace.hpp"
#include "kernels/host_instructions.hpp"
#include "scheduler/attempt_summary.hpp"
#include "scheduler/chunk_size.hpp"
#include "tools/runtime/app_files.hpp"

namespace sluice {

/// What every rank has to know of the job.
struct JobPlan {
    std::string app{};
    std::string settings{};  ///< The app's, by encode().
    Precision precision = Precision::fp32;
    std::uint64_t items = 0;
    std::uint32_t chunk_items = 1;
    std::uint32_t depth = 1;  ///< Without regard to the models' lag, until the app is loaded: depth_with_lag().
    DepthBy depth_by = DepthBy::program;
    DeviceKind device = DeviceKind::host;    ///< Not automatic.
    HostInstructions instructions{};         ///< By which host devices compute, on every rank.
    std::string gpu{};                       ///< Model of rank 0's first GPU; only rank 0 has it. Empty: none in sight.
    std::string device_note{};               ///< Why "auto" did not take a GPU; only rank 0 has it.
    std::string chunk_note{};                ///< Why chunks are as large as they are; likewise. May be empty.
    std::optional<std::uint32_t> devices{};  ///< A rank; nullopt: its share of the node.
    BindMode bind = BindMode::gpu_local;
    JobConfig::Layout layout{};            ///< As the job says it; only rank 0 has it.
    std::chrono::seconds hang_timeout{0};  ///< 0: nothing is ever called a hang.
    std::chrono::seconds drain_timeout{20};
    std::string root_host{};        ///< Rank 0's.
    std::string dump_folder{};      ///< Where a rank that finds a hang writes down who waits for what.
    std::uint64_t first_chunk = 0;  ///< Those before are committed: the run continues from here.

    [[nodiscard]] ChunkGrid grid() const { return ChunkGrid(items, chunk_items).from(first_chunk); }
};

/// What only rank 0 has open.
struct PreparedJob {
    JobConfig job;
    JobPlan plan;
    std::unique_ptr<OpenApp> app;
    AppFiles app_files;
    std::unique_ptr<ItemCodec> codec;  // outlives the source
    std::unique_ptr<ItemSource> source;
    std::unique_ptr<WeightsFile> weights_file;  // null: random
    WeightBlob weights;
    double flop_per_item = 0;
    std::optional<std::uint32_t> kept_chunk_items;  // of the run that lies there, where the job leaves it open
    std::vector<Attempt> attempts;                  // those before this one, once output is open
    std::vector<AttemptSummary> summaries;          // the same, and this one as the last
    std::unique_ptr<CommittedOutput> output;        // null until open_output()
    std::optional<HeldFolder> notes;                // where this attempt leaves what ended it, likewise
};

/// Opens and indexes the input and reads the weights meanwhile. Throws Error; what is wrong with the input comes before
/// what is wrong with the weights.
[[nodiscard]] PreparedJob prepare_job(JobConfig job, const Apps& apps, PhaseLog& phases);

/// The same where nobody asks what takes how long.
[[nodiscard]] inline PreparedJob prepare_job(JobConfig job, const Apps& apps) {
    PhaseLog phases;
    return prepare_job(std::move(job), apps, phases);
}

/// The plan's app, of `apps`, with the plan's settings; `weights` only on rank 0.
[[nodiscard]] std::unique_ptr<OpenApp> open_app(const JobPlan& plan, const Apps& apps,
                                                const std::optional<std::filesystem::path>& weights = {});

/// For the way to the other ranks.
[[nodiscard]] std::string encode(const JobPlan& plan);
[[nodiscard]] JobPlan decode_job_plan(const std::string& text);

/// Rank 0's word before the run: what all do next (a GpuWish, then the plan), or the code that all ranks end with
/// because it could not prepare the job, or that there is nothing to do.
struct RootAnnouncement {
    int code = 0;
    bool complete = false;  ///< The output is there: nothing is to be done, and there is no plan.
    std::string plan{};
};
[[nodiscard]] std::string encode(const RootAnnouncement& announcement);
[[nodiscard]] RootAnnouncement decode_announcement(const std::string& text);

/// A rank's shutdown hook to rank 0.
[[nodiscard]] std::string encode_failure(const Failure& failure);
[[nodiscard]] Failure decode_failure(const std::string& text);

}  // namespace sluice
