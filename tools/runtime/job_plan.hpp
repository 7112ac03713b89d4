#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/app.hpp"
#include "core/chunk_grid.hpp"
#include "core/config/config.hpp"
#include "core/input/item_source.hpp"
#include "core/stage_error.hpp"
#include "core/text/wording.hpp"
#include "core/trace/trace.hpp"
#include "core/weights/weights_file.hpp"
#include "kernels/host_instructions.hpp"
#include "scheduler/chunk_size.hpp"
#include "tools/runtime/app_files.hpp"

namespace sluice {

/// What every rank needs to know about the job.
struct JobPlan {
    std::string app{};
    std::string settings{};  ///< The app's, by encode().
    Precision precision = Precision::fp32;
    std::uint64_t items = 0;                    ///< An estimate where `most_items` is set.
    std::optional<std::uint64_t> most_items{};  ///< Of an input that is still being indexed.
    std::uint32_t chunk_items = 1;
    std::uint32_t depth = 1;  ///< Before the app is loaded, without the models' lag: depth_with_lag().
    DepthBy depth_by = DepthBy::program;
    DeviceKind device = DeviceKind::host;    ///< Not automatic.
    HostInstructions instructions{};         ///< Of the host devices, on every rank.
    std::optional<std::uint32_t> devices{};  ///< Per rank; nullopt: its share of the node.
    BindMode bind = BindMode::gpu_local;
    Scatter scatter = Scatter::memory;
    JobConfig::Layout layout{};            ///< As given in the job; rank 0 only.
    std::chrono::seconds hang_timeout{0};  ///< 0: hangs are not detected.
    std::chrono::seconds drain_timeout{20};
    bool wants_trace = false;   ///< All ranks tell their spans at the end.
    std::string root_host{};    ///< Rank 0's.
    std::string dump_folder{};  ///< The attempt's, for notes of deaths and hangs; empty where a rank does not see it.
    std::uint64_t first_chunk = 0;  ///< First chunk to compute; earlier ones are committed.

    /// Of whole chunks, more than there are, where the items are still being counted.
    [[nodiscard]] ChunkGrid grid() const {
        return ChunkGrid(most_items ? (*most_items / chunk_items + 1) * chunk_items : items, chunk_items)
            .from(first_chunk);
    }
};

/// Choices of an existing run, which affect its output's bytes: automatic ones might differ now. nullopt: there is no
/// run, or it has recorded none.
struct RunChoices {
    std::optional<std::uint32_t> chunk_items{};
    std::optional<std::string> device{};             ///< "host" or "cuda".
    std::optional<HostInstructions> instructions{};  ///< Of host devices.
    std::optional<std::string> gpu{};                ///< PreparedJob::gpu.
};

/// The open job; rank 0 only.
struct PreparedJob {
    JobConfig job;
    JobPlan plan;
    std::unique_ptr<OpenApp> app;
    AppFiles app_files;
    std::unique_ptr<ItemCodec> codec;  // outlives the source
    std::unique_ptr<ItemSource> source;
    std::unique_ptr<WeightsFile> weights_file;  // null: random
    WeightBlob weights;                         // until they are moved to where they are prepared
    double flop_per_item = 0;
    RunChoices begun_with;    // of the existing run
    std::string gpu;          // model of the first GPU; empty: none visible
    std::string device_note;  // why "auto" did not choose a GPU; empty: it did, or was not asked
    std::string chunk_note;   // why the chunks have this size; may be empty
};

/// As the plan's grid, but for messages: while the items are being counted, of as many as are estimated. Thread-safe.
[[nodiscard]] ChunkGrid estimated_grid(const PreparedJob& job);

/// Of which this attempt has written `written`, asked for before the call. Thread-safe.
[[nodiscard]] ItemCount items_so_far(const PreparedJob& job, std::uint64_t written);

/// Gives the plan the number of items if it is known by now; otherwise a chunk's items are, which this waits for. Waits
/// for all where the chunks might be very many.
void take_count(PreparedJob& job);

/// Host or CUDA; `wanted` unless that is automatic.
[[nodiscard]] DeviceKind choose_device(DeviceKind wanted);

/// Whether tune() still has to choose the chunk size, which is 1 until then.
[[nodiscard]] bool is_chunk_size_measured(const PreparedJob& job);

/// Opens and indexes the input while reading the weights; a large text may be indexed on after it returns. Throws
/// Error; errors of the input take precedence over those of the weights.
[[nodiscard]] PreparedJob prepare_job(JobConfig job, const Apps& apps, PhaseLog& phases);

/// The same without timing of phases, and with all items counted.
[[nodiscard]] PreparedJob prepare_job(JobConfig job, const Apps& apps);

/// Only what check_output() needs: where the output's run has counted the same input, its items are neither counted nor
/// can they be read. Does not try whether a file can be created beside the output. Throws as prepare_job.
[[nodiscard]] PreparedJob prepare_to_compare(JobConfig job, const Apps& apps);

/// Opens the plan's app, from `apps`, with the plan's settings; `weights` only on rank 0.
[[nodiscard]] std::unique_ptr<OpenApp> open_app(const JobPlan& plan, const Apps& apps,
                                                const std::optional<std::filesystem::path>& weights = {});

/// A rank's failure, for transfer to rank 0.
[[nodiscard]] std::string encode_failure(const Failure& failure);
[[nodiscard]] Failure decode_failure(const std::string& text);

}  // namespace sluice
