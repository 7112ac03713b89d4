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
    std::uint32_t depth = 3;         ///< Chunks in flight; each owns one Slot. More than Model::lag(), or 1: serial.
    std::uint32_t chunk_items = 64;  ///< Items in a chunk at most.
    std::uint32_t last_items = 0;    ///< Of the job's last chunk, when it is shorter: a device may prepare for it.
    Activities* activities =
        nullptr;               ///< Where the device and its streams say what they are at; outlives the pipeline.
    std::uint32_t device = 0;  ///< By which number they do.
};

/// Drives one device: keeps `depth` chunks moving through upload, compute and download, and touches each of them twice
/// on the host, when its input has arrived (admit) and when its output is ready (retire). A model that holds chunks
/// back (Model::lag) completes them with the chunks that follow. It is told to finish them when there are none: the
/// input has ended, or the device has nothing left to do and the next chunk is not there. Somebody may wait for just
/// these results before there can be another chunk, so a device never sits on them idle. One thread; no lock and no
/// allocation once constructed, but for what a device captures of short chunks. All arguments outlive the pipeline.
class Pipeline {
public:
    Pipeline(Device& device, Transport& transport, Model& model, const PipelineOptions& options, DeviceTrace& trace);

    /// Runs until the transport says that the input has ended and every result was delivered. Throws StageError; open
    /// requests still name this pipeline's buffers then, so it lives until the transport's other side has let go.
    void run();

private:
    [[nodiscard]] Slot& slot(std::uint64_t turn) noexcept { return slots_[turn % slots_.size()]; }

    void run_until_ended();
    [[nodiscard]] bool has_failed_as_a_whole();
    [[nodiscard]] bool request_chunks();
    [[nodiscard]] bool admit_arrivals();
    [[nodiscard]] bool finish_held_back();
    [[nodiscard]] bool retire_outputs();
    [[nodiscard]] bool free_slots();
    void share_memory(Device& device, const PipelineOptions& options);
    void prepare(const PipelineOptions& options);
    void admit(Slot& slot);

    /// The chunks before `end` have their outputs when `computed` is ready: their download follows.
    void send_back(std::uint64_t end, const Event& computed);
    void retire(Slot& slot);

    /// As the first failure of those that are not retired and admitted before `end`.
    [[noreturn]] void throw_failure(std::uint64_t end, const std::exception_ptr& failure);

    /// Of the model's work on the chunks from `first` to `last`: items of each may have been in it.
    [[noreturn]] void throw_compute_failure(std::uint64_t first, std::uint64_t last, const std::exception_ptr& failure);
    void sleep_until_rung(std::uint32_t seen);
    void make_streams(Device& device, const PipelineOptions& options);
    void say_what_it_is_at() noexcept;

    Transport& transport_;
    Model& model_;
    DeviceTrace& trace_;
    IoShape shape_;
    std::uint32_t lag_;
    bool device_rings_;
    Activities own_activities_;
    Activity* activity_ = nullptr;

    // Declared before the streams: those drain first, so no queued copy outlives its memory.
    Buffer pinned_;     // of all slots, in one piece: pages are locked once
    Buffer on_device_;  // likewise
    std::vector<Slot> slots_;
    std::unique_ptr<CapturedWork> finish_;  // the model's
    std::unique_ptr<Stream> upload_;
    std::unique_ptr<Stream> compute_;
    std::unique_ptr<Stream> download_;

    // Slots go through their states in turn, so each state's front is a counter: freed <= retired <= leaving <=
    // admitted <= requested. Those from leaving to admitted are held back.
    std::uint64_t requested_ = 0;
    std::uint64_t admitted_ = 0;
    std::uint64_t leaving_ = 0;
    std::uint64_t retired_ = 0;
    std::uint64_t freed_ = 0;
    bool ended_ = false;
};

}  // namespace sluice
