#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/buffer.hpp"
#include "core/device.hpp"
#include "core/model.hpp"
#include "core/trace/lanes.hpp"
#include "core/trace/trace.hpp"
#include "core/transport.hpp"
#include "scheduler/slot.hpp"

namespace sluice {

struct PipelineOptions {
    std::uint32_t depth = 3;         ///< Chunks in flight; each owns one Slot. 1 is the serial mode.
    std::uint32_t chunk_items = 64;  ///< Items in a chunk at most.
    std::uint32_t last_items = 0;    ///< Of the job's last chunk, when it is shorter: a device may prepare for it.
    Lanes* lanes = nullptr;          ///< Where the device and its streams say what they are at; outlives the pipeline.
    std::uint32_t device = 0;        ///< By which number they do.
};

/// Drives one device: keeps `depth` chunks moving through upload, compute and download, and touches each of them twice
/// on the host, when its input has arrived (admit) and when its output is ready (retire). One thread; no lock and no
/// allocation once constructed, but for what a device captures of short chunks. All arguments outlive the pipeline.
class Pipeline {
public:
    Pipeline(Device& device, Transport& transport, Model& model, const PipelineOptions& options, DeviceTrace& trace);

    /// Runs until the transport says that the input has ended and every result was delivered. Throws StageError; open
    /// requests still name this pipeline's buffers then, so it lives until the transport's other side has let go.
    void run();

private:
    [[nodiscard]] Slot& slot(std::uint64_t turn) noexcept { return slots_[turn % slots_.size()]; }

    [[nodiscard]] bool request_chunks();
    [[nodiscard]] bool admit_arrivals();
    [[nodiscard]] bool retire_outputs();
    [[nodiscard]] bool free_slots();
    void share_memory(Device& device, const PipelineOptions& options);
    void prepare(const PipelineOptions& options);
    void admit(Slot& slot);
    void retire(Slot& slot);
    void sleep_until_rung(std::uint32_t seen);
    void make_streams(Device& device, const PipelineOptions& options);
    void say_what_it_is_at() noexcept;

    Transport& transport_;
    Model& model_;
    DeviceTrace& trace_;
    IoShape shape_;
    bool device_rings_;
    Lanes own_lanes_;
    Lane* lane_ = nullptr;

    // Declared before the streams: those drain first, so no queued copy outlives its memory.
    Buffer pinned_;     // of all slots, in one piece: pages are locked once
    Buffer on_device_;  // likewise
    std::vector<Slot> slots_;
    std::unique_ptr<Stream> upload_;
    std::unique_ptr<Stream> compute_;
    std::unique_ptr<Stream> download_;

    // Slots go through their states in turn, so each state's front is a counter: freed <= retired <= admitted <=
    // requested.
    std::uint64_t requested_ = 0;
    std::uint64_t admitted_ = 0;
    std::uint64_t retired_ = 0;
    std::uint64_t freed_ = 0;
    bool ended_ = false;
};

}  // namespace sluice
