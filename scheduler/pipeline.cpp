#include "scheduler/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string_view>

#include "core/device/host_stream.hpp"
#include "core/device/profiler_range.hpp"
#include "core/error.hpp"
#include "core/process/fault_point.hpp"
#include "core/stage_error.hpp"

namespace sluice {
namespace {

// Per copy stream: wait, mark, copy, record; held back: wait, record.
constexpr std::size_t copy_operations_per_chunk = 6;
constexpr std::size_t compute_operations = 2048;           // several chunks of a model that enqueues a few per item
constexpr std::size_t records_per_chunk = 4;               // per stream: begin and end; held back: finish()'s too
constexpr std::size_t alignment = 256;                     // bytes, of a slot's buffers; fastest for GPUs
constexpr std::chrono::nanoseconds shortest_poll{20'000};  // for devices that cannot ring

std::size_t aligned(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

Interval between(const Event& begun, const Event& ended) {
    return {begun.completed_at(), ended.completed_at()};
}

/// Calls `step` and turns exceptions into a StageError of `stage` and `chunk`.
template <class Step>
decltype(auto) in_stage(Stage stage, const Chunk& chunk, Step step) {
    try {
        return step();
    } catch (const StageError&) {
        throw;
    } catch (...) {
        throw StageError(stage, chunk, std::current_exception());
    }
}

/// For tests, on host devices.
void delay_on(Stream& stream, Stage stage) {
    if (auto* const host = has_fault_hooks() ? dynamic_cast<HostStream*>(&stream) : nullptr) {
        host->run([stage] { fault_delay(to_string(stage)); });
    }
}

}  // namespace

Pipeline::Pipeline(Device& device, Transport& transport, Model& model, const PipelineOptions& options,
                   DeviceTrace& trace)
    : transport_(transport),
      model_(model),
      trace_(trace),
      shape_(model.shape()),
      lag_(model.lag()),
      device_rings_(device.rings()) {
    expects(options.depth >= 1 && options.chunk_items >= 1, "Pipeline: depth and chunk_items are at least 1");
    expects(options.depth > lag_ || options.depth == 1, "Pipeline: depth is more than the model's lag, or 1");
    share_memory(device, options);
    make_streams(device, options);
    prepare(options);
}

void Pipeline::make_streams(Device& device, const PipelineOptions& options) {
    Activities& activities = options.activities == nullptr ? own_activities_ : *options.activities;
    const std::uint32_t group = activities.new_group();
    const auto activity_of = [&](std::string_view stream) {
        return &activities.add(ActivityKind::stream, fmt::format("device {} {} stream", options.device, stream), group);
    };
    activity_ = &activities.add(ActivityKind::device, fmt::format("device {}", options.device), group);
    StreamOptions upload{.operations = copy_operations_per_chunk * options.depth,
                         .records = records_per_chunk * (options.depth + 1)};
    StreamOptions compute = upload;
    compute.operations = compute_operations;
    StreamOptions download = upload;
    download.bell = &transport_.bell();
    if (device.rings()) {  // only host devices' streams have threads that can report
        upload.activity = activity_of("upload");
        compute.activity = activity_of("compute");
        download.activity = activity_of("download");
    }
    upload_ = device.make_stream(upload);
    compute_ = device.make_stream(compute);
    download_ = device.make_stream(download);
}

void Pipeline::share_memory(Device& device, const PipelineOptions& options) {
    const std::size_t input_bytes = std::size_t{options.chunk_items} * shape_.input_bytes;
    const std::size_t output_bytes = std::size_t{options.chunk_items} * shape_.output_bytes;
    const std::size_t output_at = aligned(input_bytes);
    const std::size_t slot_bytes = output_at + aligned(output_bytes);
    pinned_ = device.allocate(MemorySpace::pinned, slot_bytes * options.depth);
    on_device_ = device.allocate(MemorySpace::device, slot_bytes * options.depth);
    slots_.resize(options.depth);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        const std::size_t at = i * slot_bytes;
        slots_[i].arrived = pinned_.bytes().subspan(at, input_bytes);
        slots_[i].downloaded = pinned_.bytes().subspan(at + output_at, output_bytes);
        slots_[i].input = on_device_.bytes().subspan(at, input_bytes);
        slots_[i].output = on_device_.bytes().subspan(at + output_at, output_bytes);
    }
}

void Pipeline::prepare(const PipelineOptions& options) {
    const auto forward = [this](const Slot& slot, std::size_t items) {
        return [this, &slot, items] {
            model_.forward(*compute_, items, slot.input.first(items * shape_.input_bytes),
                           slot.output.first(items * shape_.output_bytes));
        };
    };
    for (Slot& slot : slots_) {
        const auto full = forward(slot, options.chunk_items);
        compute_->capture(slot.full_chunk, full);
    }
    if (options.last_items != 0) {  // one device gets it, in any slot, so only the model's preparations are kept
        const auto last = forward(slots_[0], options.last_items);
        std::unique_ptr<CapturedWork> captured;
        compute_->capture(captured, last);
    }
    if (lag_ != 0) {
        const auto finish = [this] { model_.finish(*compute_); };
        compute_->capture(finish_, finish);
    }
}

void Pipeline::run() {
    try {
        run_until_ended();
    } catch (const StageError& error) {
        if (has_failed_as_a_whole()) {
            std::uint64_t last = retired_;
            while (last + 1 < admitted_ && !slot(last + 1).chunk.end_of_input()) {
                ++last;
            }
            throw_compute_failure(retired_, last, error.cause());
        }
        throw;
    }
}

void Pipeline::run_until_ended() {
    while (!ended_ || freed_ != requested_) {
        const std::uint32_t seen = transport_.bell().listen();
        bool moved = free_slots();
        moved |= request_chunks();
        moved |= admit_arrivals();
        moved |= finish_held_back();
        moved |= retire_outputs();
        if (moved) {
            report_activity();
        } else {
            wait_for_bell(seen);
        }
    }
    trace_.set_run_delay(compute_->run_delay());
    activity_->end();
}

void Pipeline::report_activity() noexcept {
    if (retired_ != admitted_ && !slot(retired_).chunk.end_of_input()) {
        activity_->work(Stage::compute, slot(retired_).chunk.id);
    } else if (freed_ != retired_ && !slot(freed_).chunk.end_of_input()) {
        activity_->wait(Stage::gather, slot(freed_).chunk.id);
    } else {
        activity_->wait(Stage::scatter);
    }
}

bool Pipeline::request_chunks() {
    bool moved = false;
    for (; !ended_ && requested_ - freed_ < slots_.size(); ++requested_, moved = true) {
        Slot& next = slot(requested_);
        next.ticket = in_stage(Stage::scatter, Chunk{}, [&] { return transport_.request(next.arrived); });
    }
    return moved;
}

bool Pipeline::admit_arrivals() {
    bool moved = false;
    for (; admitted_ != requested_; ++admitted_, moved = true) {
        Slot& next = slot(admitted_);
        if (!next.ticket.arrived.ready()) {
            break;
        }
        next.chunk = next.ticket.arrival->chunk;
        if (next.chunk.end_of_input()) {
            ended_ = true;
            static_cast<void>(finish_held_back());
            next.done = next.delivered = Event();
            ++leaving_;
        } else {
            admit(next);
        }
    }
    return moved;
}

void Pipeline::admit(Slot& slot) {
    const std::size_t items = slot.chunk.count;
    const auto input = slot.input.first(items * shape_.input_bytes);
    const auto output = slot.output.first(items * shape_.output_bytes);
    slot.spans.chunk = slot.chunk;
    activity_->work(Stage::scatter, slot.chunk.id);
    slot.spans.scatter = in_stage(Stage::scatter, slot.chunk, [&] {
        const ProfilerRange range(Stage::scatter, slot.chunk);
        return transport_.fetch(slot.ticket);
    });

    in_stage(Stage::upload, slot.chunk, [&] {
        const ProfilerRange range(Stage::upload, slot.chunk);
        slot.upload_begun = upload_->mark();
        upload_->copy(input, slot.arrived.first(input.size()));
        delay_on(*upload_, Stage::upload);
        slot.uploaded = upload_->record();
    });
    const auto compute = [&] {
        const ProfilerRange range(Stage::compute, slot.chunk);
        compute_->wait(slot.uploaded);
        slot.compute_begun = compute_->mark();
        delay_on(*compute_, Stage::compute);
        const auto forward = [&] { model_.forward(*compute_, items, input, output); };
        if (input.size() == slot.input.size()) {
            compute_->launch(slot.full_chunk, forward);
        } else if (auto* const captured = slot.short_chunks.meet(items)) {
            compute_->launch(*captured, forward);
        } else {
            forward();
        }
        slot.forwarded = compute_->record();
    };
    try {
        compute();
    } catch (...) {
        throw_compute_failure(leaving_, admitted_, std::current_exception());
    }
    const std::uint64_t forwarded = admitted_ + 1;
    enqueue_downloads(std::max(leaving_, forwarded - std::min<std::uint64_t>(forwarded, lag_)), slot.forwarded);
}

void Pipeline::enqueue_downloads(std::uint64_t end, const Event& computed) {
    in_stage(Stage::download, slot(leaving_).chunk, [&] {
        download_->wait(computed);
        if (leaving_ == end) {
            static_cast<void>(download_->record());  // rings: finish_held_back() then checks for another chunk
        }
        for (; leaving_ != end; ++leaving_) {
            Slot& next = slot(leaving_);
            const ProfilerRange range(Stage::download, next.chunk);
            const auto output = next.output.first(std::size_t{next.chunk.count} * shape_.output_bytes);
            next.computed = computed;
            next.download_begun = download_->mark();
            download_->copy(next.downloaded.first(output.size()), output);
            delay_on(*download_, Stage::download);
            next.done = download_->record();
        }
    });
}

bool Pipeline::finish_held_back() {
    if (leaving_ == admitted_) {
        return false;
    }
    const bool none_can_come = ended_ || admitted_ - leaving_ == slots_.size();
    try {
        if (!none_can_come && !slot(admitted_ - 1).forwarded.ready()) {
            return false;
        }
    } catch (...) {
        throw_failure(admitted_, std::current_exception());
    }
    Event finished;
    try {
        const auto finish = [&] { model_.finish(*compute_); };
        compute_->launch(finish_, finish);
        finished = compute_->record();
    } catch (...) {
        throw_compute_failure(leaving_, admitted_ - 1, std::current_exception());
    }
    enqueue_downloads(admitted_, finished);
    return true;
}

bool Pipeline::retire_outputs() {
    bool moved = false;
    for (; retired_ != leaving_; ++retired_, moved = true) {
        Slot& next = slot(retired_);
        try {
            if (!next.done.ready()) {
                break;
            }
        } catch (...) {
            throw_failure(std::min(admitted_, retired_ + lag_ + 1), std::current_exception());
        }
        if (!next.chunk.end_of_input()) {
            retire(next);
        }
    }
    return moved;
}

void Pipeline::retire(Slot& slot) {
    slot.spans.upload = between(slot.upload_begun, slot.uploaded);
    slot.spans.compute = between(slot.compute_begun, slot.computed);
    slot.spans.download = between(slot.download_begun, slot.done);
    slot.spans.gather.begin = Clock::now();
    activity_->took(static_cast<std::uint64_t>((slot.spans.download.end - slot.spans.upload.begin).count()));
    const auto outputs = slot.downloaded.first(std::size_t{slot.chunk.count} * shape_.output_bytes);
    slot.delivered = in_stage(Stage::gather, slot.chunk, [&] {
        const ProfilerRange range(Stage::gather, slot.chunk);
        return transport_.deliver(slot.chunk, outputs);
    });
}

bool Pipeline::free_slots() {
    bool moved = false;
    for (; freed_ != retired_; ++freed_, moved = true) {
        Slot& next = slot(freed_);
        if (!next.delivered.ready()) {
            break;
        }
        if (!next.chunk.end_of_input()) {
            next.spans.gather.end = next.delivered.completed_at();
            trace_.add(next.spans);
        }
    }
    return moved;
}

void Pipeline::wait_for_bell(std::uint32_t seen) {
    if (device_rings_) {
        transport_.bell().wait(seen);
    } else {
        transport_.bell().wait_for(seen, shortest_poll);
    }
}

}  // namespace sluice
