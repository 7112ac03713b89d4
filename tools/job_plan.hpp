#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/app.hpp"
#include "core/config.hpp"
#include "core/cuda.hpp"
#include "core/io/item_source.hpp"
#include "core/io/output_writer.hpp"
#include "core/stage_error.hpp"

namespace sluice {

/// What every rank has to know of the job.
struct JobPlan {
    std::string app{};
    AppOptions options{};
    std::uint64_t items = 0;
    std::uint32_t chunk_items = 1;
    std::uint32_t depth = 1;
    DeviceKind device = DeviceKind::host;    ///< Not automatic.
    std::string device_note{};               ///< Why "auto" did not take a GPU; rank 0 alone has it.
    std::string chunk_note{};                ///< Why chunks are as large as they are; likewise. May be empty.
    std::optional<std::uint32_t> devices{};  ///< A rank; nullopt: its share of the node.
    BindMode bind = BindMode::gpu_local;
};

/// What rank 0 alone has open.
struct PreparedJob {
    JobConfig job;
    JobPlan plan;
    const App* app = nullptr;
    std::unique_ptr<ItemCodec> codec;  // outlives the source
    std::unique_ptr<ItemSource> source;
    WeightBlob weights;
    std::unique_ptr<OutputWriter> writer;
    std::optional<CudaStart> cuda_start;
};

/// Reads the job file, opens and indexes the input, reads the weights, opens the output. Throws Error.
/// `start_gpus`: this process will drive all GPUs that it sees, unless the job asks for fewer: CUDA starts on them
/// while files are read.
[[nodiscard]] PreparedJob prepare_job(const std::filesystem::path& job_file, std::span<const Override> overrides,
                                      bool start_gpus = false);

/// For the way to the other ranks.
[[nodiscard]] std::string encode(const JobPlan& plan);
[[nodiscard]] JobPlan decode_job_plan(const std::string& text);

/// Rank 0's word before the run: the plan, or the code that all ranks end with because it could not prepare the job.
struct RootAnnouncement {
    int code = 0;
    std::string plan{};
};
[[nodiscard]] std::string encode(const RootAnnouncement& announcement);
[[nodiscard]] RootAnnouncement decode_announcement(const std::string& text);

/// A rank's last words to rank 0.
[[nodiscard]] std::string encode_failure(const Failure& failure);
[[nodiscard]] Failure decode_failure(const std::string& text);

}  // namespace sluice
