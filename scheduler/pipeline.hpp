#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "core/buffer.hpp"
#include "core/device.hpp"
#include "core/model.hpp"
#include "core/trace/activities.hpp"
#include "core/trace/trace.hpp"
#include "core/transport.hpp"
#include "scheduler/slot.hpp"

namespace sluice {

struct PipelineOptions {
    std::uint32_t depth = 3;         ///< Chunks in flight, each owning one Slot. Above Model::lag(), or 1: serial.
    std::uint32_t chunk_items = 64;  ///< Most items in a chunk.
    /// Items of the job's last chunk if shorter: a device may prepare for it. 0: not shorter.
    std::uint32_t last_items = 0;
    /// Where the device and its streams report what they are doing; outlives the pipeline.
    Activities* activities = nullptr;
    std::uint32_t device = 0;  ///< The device's number in these reports.
};

/// Drives one device: keeps `depth` chunks moving through upload, compute and download, and touches each of them twice
/// on the host, when its input has arrived (admit) and when its output is ready (retire). A model that holds chunks
/// back (Model::lag) completes them with later chunks, or with Model::finish() at the end of the input or when the
/// device is idle and the next chunk has not arrived: the next chunk may depend on these results, so an idle device
/// never holds them back. Single-threaded; no lock and no allocation once constructed, except for captured short
/// chunks. All arguments outlive the pipeline.
class Pipeline {
public:
    Pipeline(Device& device, Transport& transport, Model& model, const PipelineOptions& options, DeviceTrace& trace);

    /// Runs until the transport reports the end of the input and every result is delivered. Throws StageError; open
    /// requests still refer to this pipeline's buffers then, so it must live until the transport's other side has
    /// released them.
    void run();

private:
    [[nodiscard]] Slot& slot(std::uint64_t turn) noexcept { return slots_[turn % slots_.size()]; }

    // Construction.
    void share_memory(Device& device, const PipelineOptions& options);
    void make_streams(Device& device, const PipelineOptions& options);
    void prepare(const PipelineOptions& options);

    // The loop, and its steps in a chunk's order, which return whether anything happened.
    void run_until_ended();
    [[nodiscard]] bool request_chunks();
    [[nodiscard]] bool admit_arrivals();
    [[nodiscard]] bool finish_held_back();
    [[nodiscard]] bool retire_outputs();
    [[nodiscard]] bool free_slots();
    void report_activity() noexcept;
    void wait_for_bell(std::uint32_t seen);

    void admit(Slot& slot);

    /// Enqueues the downloads of the chunks before `end`, whose outputs are complete when `computed` is ready.
    void enqueue_downloads(std::uint64_t end, const Event& computed);
    void retire(Slot& slot);

    // Failure, in pipeline_failure.cpp.

    [[nodiscard]] bool has_failed_as_a_whole();

    /// Reports the first failure among the chunks before `end` that are not retired.
    [[noreturn]] void throw_failure(std::uint64_t end, const std::exception_ptr& failure);

    /// For the model's work on chunks `first` to `last`, inclusive: it may have contained items of each.
    [[noreturn]] void throw_compute_failure(std::uint64_t first, std::uint64_t last, const std::exception_ptr& failure);

    Transport& transport_;
    Model& model_;
    DeviceTrace& trace_;
    IoShape shape_;
    std::uint32_t lag_;
    bool device_rings_;
    Activities own_activities_;
    Activity* activity_ = nullptr;

    // Declared before the streams, which drain first, so no queued copy outlives its memory.
    Buffer pinned_;     // of all slots, allocated at once: pages are locked once
    Buffer on_device_;  // of all slots
    std::vector<Slot> slots_;
    std::unique_ptr<CapturedWork> finish_;  // the model's
    std::unique_ptr<Stream> upload_;
    std::unique_ptr<Stream> compute_;
    std::unique_ptr<Stream> download_;

    // Slots change states in order, so each state's front is a counter: freed <= retired <= leaving <= admitted <=
    // requested. Slots in [leaving, admitted) are held back.
    std::uint64_t requested_ = 0;
    std::uint64_t admitted_ = 0;
    std::uint64_t leaving_ = 0;
    std::uint64_t retired_ = 0;
    std::uint64_t freed_ = 0;
    bool ended_ = false;
};

}  // namespace sluice
