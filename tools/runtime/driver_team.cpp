#include "tools/runtime/driver_team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "comm/crash_reports.hpp"
#include "core/device/cuda.hpp"
#include "core/device/host_device.hpp"
#include "core/machine/gpu_visibility.hpp"
#include "core/trace/thread_usage.hpp"

namespace sluice {
namespace {

void keep_earliest(std::optional<Instant>& earliest, Instant moment) {
    earliest = earliest ? std::min(*earliest, moment) : moment;
}

void keep_latest(std::optional<Instant>& latest, Instant moment) {
    latest = latest ? std::max(*latest, moment) : moment;
}

/// CUDA's number of that GPU, which `expected` is unless CUDA has another order than the driver's list.
std::uint32_t number_of(const std::string& uuid, std::uint32_t expected) {
    if (expected < cuda_device_count() && cuda_device_uuid(expected) == uuid) {
        return expected;
    }
    const auto numbers = numbers_of({&uuid, 1}, cuda_gpus());
    if (!numbers) {
        check_cuda_driver();  // of which the list says nothing: it is the kernel module's
        const std::string why = why_no_cuda();
        throw Error(ExitCode::unavailable, {.id = "E-GPU-064",
                                            .where = "run.device",
                                            .what = fmt::format("CUDA does not show {}, which the driver lists{}{}",
                                                                uuid, why.empty() ? "" : ": ", why),
                                            .hint = "see nvidia-smi; list the GPUs to use in CUDA_VISIBLE_DEVICES"});
    }
    return numbers->front();
}

}  // namespace

std::uint32_t device_number(std::span<const DevicePlace> places, std::span<const std::string> gpus, std::size_t index) {
    const std::uint32_t number = places[index].number;
    return gpus.empty() ? number : number_of(gpus[index], number);
}

std::unique_ptr<Device> make_device(DeviceKind kind, std::uint32_t number) {
    return kind == DeviceKind::cuda ? make_cuda_device(number) : std::make_unique<HostDevice>(number);
}

DriverTeam::DriverTeam(const LoadedApp& app, std::deque<Endpoint>& endpoints, const DriverTeamOptions& options)
    : app_(app), options_(options) {
    for (std::uint32_t i = 0; i < endpoints.size(); ++i) {
        const char* const name = options.device == DeviceKind::cuda ? "cuda" : "host";
        drivers_.emplace_back(DeviceTrace(name, options.chunks, options.memory.shape));
    }
    try {
        for (std::uint32_t i = 0; i < endpoints.size(); ++i) {
            drivers_[i].thread = start(i, endpoints[i]);
        }
    } catch (...) {  // no thread: the drivers already running will not be served
        for (Endpoint& endpoint : endpoints) {
            endpoint.abandon(std::current_exception());
        }
        join();
        throw;
    }
}

DriverTeam::~DriverTeam() {
    join();
}

/// Started on its own CPUs, which its device's threads and first-touched memory inherit.
std::thread DriverTeam::start(std::uint32_t index, Endpoint& endpoint) {
    std::optional<BoundWhile> bound;
    if (options_.machine != nullptr) {
        bound.emplace(*options_.machine, options_.places.at(index).cpus);
        finding_ = finding_ ? finding_ : bound->finding();
    }
    return std::thread([this, index, &endpoint] { drive(drivers_[index], endpoint, index); });
}

void DriverTeam::drive(Driver& driver, Endpoint& endpoint, std::uint32_t index) {
    const Instant begin = Clock::now();
    const std::string name = fmt::format("driver {}", index);
    name_this_thread(name);
    // Declared here to live, after a failure, until the comm thread has released the buffers (Endpoint::close).
    std::unique_ptr<Device> device;
    std::unique_ptr<Model> model;
    std::optional<Pipeline> pipeline;
    std::exception_ptr failure;
    try {
        device = make_device_at(index);
        model = app_.make_model(*device, room_on(*device, index));
        check_shape("model", model->shape(), options_.memory.shape);
        expects(model->lag() == app_.lag(), "a model holds more or fewer chunks back than its app says");
        if (!options_.sample.empty()) {
            model->calibrate(*device->make_stream({}), options_.sample);
        }
        driver.device_ready = Clock::now();
        PipelineOptions options = options_.pipeline;
        options.device = index;
        pipeline.emplace(*device, endpoint, *model, options, driver.trace);
        driver.buffers_ready = Clock::now();
        CrashReports::watch_exit();
        pipeline->run();
        if (const auto certification = model->certification()) {
            driver.trace.set_certification(*certification);
        }
        driver.trace.set_counts(model->counts());
    } catch (...) {  // passed to the comm thread by close()
        failure = std::current_exception();
    }
    driver.usage = usage_of_this_thread(name, begin);
    endpoint.close(failure);
}

std::unique_ptr<Device> DriverTeam::make_device_at(std::uint32_t index) const {
    const bool starts_early = options_.device == DeviceKind::cuda && options_.driver_start != nullptr;
    if (starts_early) {
        options_.driver_start->wait_for_turn();
    }
    const std::uint32_t number = device_number(options_.places, options_.gpus, index);
    if (starts_early) {
        options_.driver_start->wait_for(number);
    }
    return make_device(options_.device, number);
}

ModelRoom DriverTeam::room_on(const Device& device, std::uint32_t index) const {
    const std::optional<MemoryInfo> own = device.memory();
    return own ? room_on_device(options_.memory, *own, options_.places.at(index).ranks, device.name())
               : room_on_host(options_.memory, options_.host_bytes);
}

RankTrace DriverTeam::take_trace() {
    join();
    RankTrace trace = empty_trace();
    if (options_.device == DeviceKind::cuda) {
        for (std::size_t i = 0; i < options_.places.size(); ++i) {
            trace.gpus.push_back(escaped(cuda_device_model(device_number(options_.places, options_.gpus, i))));
        }
    }
    for (Driver& driver : drivers_) {
        note(trace.milestones, driver);
        trace.devices.push_back(std::move(driver.trace));
        trace.usage.push_back(std::move(driver.usage));
    }
    note_start(trace);
    return trace;
}

RankTrace DriverTeam::trace_so_far() const {
    RankTrace trace = empty_trace();
    for (const Driver& driver : drivers_) {
        note(trace.milestones, driver);
        trace.devices.push_back(driver.trace.so_far());
    }
    note_start(trace);
    return trace;
}

void DriverTeam::note_start(RankTrace& trace) const {
    if (trace.milestones.driver) {
        trace.phases.push_back({.phase = Phase::driver, .time = *trace.milestones.driver});
    }
    if (trace.milestones.buffers_ready) {
        trace.phases.push_back({.phase = Phase::devices, .time = {begin_, *trace.milestones.buffers_ready}});
    }
}

RankTrace DriverTeam::empty_trace() const {
    RankTrace trace;
    trace.copies_items = options_.copies_items;
    trace.milestones.driver = options_.driver_start == nullptr ? std::nullopt : options_.driver_start->took();
    return trace;
}

void DriverTeam::note(Milestones& at, const Driver& driver) {
    if (driver.buffers_ready.load() != Instant()) {
        keep_latest(at.buffers_ready, driver.buffers_ready.load());
        keep_latest(at.devices_ready, driver.device_ready.load());
    }
    std::optional<Instant> first_compute;
    for (const ChunkSpans& spans : driver.trace.chunks()) {
        keep_earliest(at.scatter_begin, spans.scatter.begin);
        keep_latest(at.scatter_end, spans.scatter.end);
        keep_earliest(first_compute, spans.compute.begin);
        keep_latest(at.compute_end, spans.compute.end);
        keep_latest(at.delivered, spans.gather.end);
    }
    at.first_compute.push_back(first_compute);
}

void DriverTeam::join() {
    for (Driver& driver : drivers_) {
        if (driver.thread.joinable()) {
            driver.thread.join();
        }
    }
}

}  // namespace sluice
